"""Rolling repeated equations of a traced program to scans: `scanify.reroll`."""

from scanify.rolling.reroll import NotRerolled as NotRerolled
from scanify.rolling.reroll import reroll as reroll
