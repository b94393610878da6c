"""The classes of traps, and of what only looks like one."""

from tests.random_projects.traps.aliases import ALIASES, MANY_TIMES
from tests.random_projects.traps.bodies import BODIES
from tests.random_projects.traps.classes import CLASSES
from tests.random_projects.traps.effects import EFFECTS
from tests.random_projects.traps.gains import GAINS
from tests.random_projects.traps.harmless import HARMLESS as HARMLESS
from tests.random_projects.traps.loops import LOOPS
from tests.random_projects.traps.optimisers import OPTIMISERS
from tests.random_projects.traps.walkers import WALKERS
from tests.random_projects.traps.zips import ZIPS

TRAPS = (*OPTIMISERS, *WALKERS, *ALIASES, *MANY_TIMES, *EFFECTS, *CLASSES, *BODIES, *GAINS, *LOOPS, *ZIPS)
