"""What a trap is: a piece of code, set into a project, for which a loop over layers is not what it looks like."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from tests.random_projects.forms import Form
from tests.random_projects.layers import Layer


class Expect(Enum):
    """What must become of the loops of a project with a trap.

    HELD: they stay. LIST: the list stays a list: a scan may only stack it where it is called. KEPT: it only looks like
    a trap, and the loops are to be rewritten as if it were not there. IDLE: nothing would be gained, so they stay. SLOW:
    the list stays, because something else would take the stack apart. EITHER: both are right, if nothing else is
    computed.
    """

    HELD = "held back"
    LIST = "the list stays"
    KEPT = "rewritten all the same"
    IDLE = "nothing to gain"
    SLOW = "the list stays, or slow"
    EITHER = "either"


@dataclass(frozen=True)
class Variant:
    """One way to set a trap: lines for the slots of a project, by slot, and what its base must be.

    `needs` are tags of the layer and of the form, `without` those that neither may have. `eager`: it raises where it is
    traced, `eager_init`: where the constructors are. `alone`: the project does not run with another trap beside it.
    `build` takes the place of the statements that build the list (`EXPR` stands for a list of new layers), `layer` and
    `form` those of the layer and the form, `body` that of the call in the loop's body, `annotation` that of the list,
    `length` that of the number of layers.
    """

    slots: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    needs: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    build: str = ""
    layer: Layer | None = None
    body: str = ""
    form: Form | None = None
    annotation: str = ""
    length: int | None = None
    eager: bool = False
    eager_init: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Trap:
    """A class of traps, by name, with every way to set one."""

    name: str
    expect: Expect
    variants: tuple[Variant, ...]
