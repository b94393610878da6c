"""`scanify.reroll`: replace repeated equations of a traced program by scans."""

from scanify.rolling.parameters import reroll_parameters as reroll_parameters
from scanify.rolling.reroll import NotRerolled as NotRerolled
from scanify.rolling.reroll import reroll as reroll
