"""All bad inputs, the quick ones first."""

from tests.bad_inputs.cases import CASES
from tests.bad_inputs.checkpoints import CHECKPOINTS
from tests.bad_inputs.notebooks import NOTEBOOKS
from tests.bad_inputs.paths import PATHS
from tests.bad_inputs.programs import PROGRAMS
from tests.bad_inputs.settings import SETTINGS
from tests.bad_inputs.surroundings import SURROUNDINGS
from tests.bad_inputs.texts import TEXTS

INPUTS = [*PATHS, *TEXTS, *PROGRAMS, *SETTINGS, *NOTEBOOKS, *SURROUNDINGS, *CHECKPOINTS, *CASES]
