"""The classes of traps, and of what only looks like one."""

from tests.random_projects.traps.aliases import ALIASES, MANY_TIMES
from tests.random_projects.traps.bodies import BODIES
from tests.random_projects.traps.classes import CLASSES
from tests.random_projects.traps.effects import EFFECTS
from tests.random_projects.traps.gains import GAINS
from tests.random_projects.traps.harmless import HARMLESS as HARMLESS
from tests.random_projects.traps.loops import LOOPS
from tests.random_projects.traps.optimisers import OPTIMISERS
from tests.random_projects.traps.trees import TREES
from tests.random_projects.traps.walkers import WALKERS
from tests.random_projects.traps.zips import ZIPS

# Traps in who looks at the parameters of any model, and such as concern one model alone.
LOOKING = (*OPTIMISERS, *WALKERS, *TREES)
ALONE = (*ALIASES, *MANY_TIMES, *EFFECTS, *CLASSES, *BODIES, *GAINS, *LOOPS, *ZIPS)
TRAPS = (*LOOKING, *ALONE)
