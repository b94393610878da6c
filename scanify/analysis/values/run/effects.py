"""Effects: what code does besides giving a value. A loop body that does more cannot run once for all layers.

Under `lax.scan` a body is traced once, so whatever Python does beside computing happens once instead of once a layer.
"""

import ast
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place, Span

if TYPE_CHECKING:
    from scanify.analysis.index.module import Module
    from scanify.analysis.values.marks import Marks


class Act(Enum):
    """What an effect is.

    WRITE changes an object that lives outside. OUTSIDE is input, output, random state of the process, settings.
    UNKNOWN calls what the source does not show. CONCRETE needs the value of what is a tracer in a scan. IDENTITY
    asks which object something is. CALLBACK runs again where a layer is run again. TELLS logs or warns.
    CHECKPOINT is remat of its own. DEBUG prints through jax, once a layer. SUPER is a zero-argument `super()`.
    APPLY is a call of a module, or of a method of it, which `what` names the class of. BRANCH is a condition on a
    Python value that differs between the iterations of the loops in `marks`. OWN changes what a call that is not shown
    gave to the function that changes it. IN_PLACE is `x += y` for an `x` of the caller, which an array of numpy would
    be changed by. AGAIN does what is done already when it is done once more. TEXT makes a string of what is a tracer in
    a scan, or where it has `marks` of what may be one in a scan over those loops. REMEMBERS keeps an array that it
    gave, for whoever calls it next. ORDER walks a dict whose keys may not be in the order that jax sorts them in.
    """

    WRITE = "write"
    COLLECT = "collect"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"
    CONCRETE = "concrete"
    IDENTITY = "identity"
    CALLBACK = "callback"
    TELLS = "tells"
    CHECKPOINT = "checkpoint"
    DEBUG = "debug"
    SUPER = "super"
    APPLY = "apply"
    TEXT = "text"
    BRANCH = "branch"
    OWN = "own"
    IN_PLACE = "in place"
    AGAIN = "again"
    REMEMBERS = "remembers"
    ORDER = "order"


@dataclass(frozen=True, eq=False)
class Effect:
    """One effect: `what` it is done to or by, as written; `inside` the function that does it, where that is a callee.

    `root` is the object of the heap that a write changes, where it is known: the caller may have made it. `guess` says
    that nothing but the call that gave the object says that it is new (of an UNKNOWN effect: that such a call gave it),
    `conditional` that it stands in a branch,
    `assumed` that a call which is not shown is taken to change its object, as nobody asks what it gives. `holder` tells
    the object from others whose attribute is written, where it is no object of the heap. `argument` is the argument of
    which an UNKNOWN effect is none where that is an array.
    """

    act: Act
    what: str
    node: ast.AST
    module: "Module"
    inside: str = ""
    born: int = 0
    root: ast.AST | None = None
    marks: "Marks" = ()
    guess: bool = False
    conditional: bool = False
    assumed: bool = False
    holder: object = None
    argument: object = None

    @property
    def place(self) -> Place:
        """Where it stands."""
        try:
            return self.module.place(self.node)
        except (IndexError, ValueError, AttributeError):
            return Place(self.module.path, Span(0, 0, 1, 1))
