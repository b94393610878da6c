"""Rolling repeated equations of a traced program to scans: `scanify.reroll`."""

from scanify.rolling.parameters import reroll_parameters as reroll_parameters
from scanify.rolling.reroll import NotRerolled as NotRerolled
from scanify.rolling.reroll import reroll as reroll
