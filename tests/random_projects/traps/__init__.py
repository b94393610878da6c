"""The classes of traps, and of what only looks like one."""

from tests.random_projects.traps.aliases import ALIASES
from tests.random_projects.traps.bodies import BODIES
from tests.random_projects.traps.classes import CLASSES
from tests.random_projects.traps.effects import EFFECTS
from tests.random_projects.traps.gains import GAINS
from tests.random_projects.traps.harmless import HARMLESS as HARMLESS
from tests.random_projects.traps.optimisers import OPTIMISERS
from tests.random_projects.traps.walkers import WALKERS

TRAPS = (*OPTIMISERS, *WALKERS, *ALIASES, *EFFECTS, *CLASSES, *BODIES, *GAINS)
