"""One use of a list, and which of all uses keeps it a list."""

import ast
from dataclasses import dataclass
from enum import Enum

from scanify.analysis.facts import Place
from scanify.analysis.stack import CallStack


class Does(Enum):
    """What a use does with a list.

    SERVED: a stack serves it. OBJECT: it needs the very list, or the very layers, and changes neither. OTHER: it may
    put other layers into the list, or write into one.
    """

    SERVED = "served"
    OBJECT = "read objects"
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Use:
    """One use. `what` is a clause about it: "the list itself is returned"; `rule` names the page about it, if any.

    `node` is the expression that stands for the list, None if the place is not an expression.
    """

    place: Place
    does: Does
    what: str = ""
    rule: str = ""
    node: ast.AST | None = None


@dataclass(frozen=True)
class Uses:
    """The first use of a list that needs a Python list.

    `changes` is the first after which the layers may be others than those that the list is built of.
    """

    keeps: Use | None = None
    changes: Use | None = None

    @property
    def in_call(self) -> CallStack | None:
        """Why the list stays a list and is stacked in the call, None if it can be built stacked."""
        return CallStack(self.keeps.what, self.keeps.place, self.keeps.rule) if self.keeps is not None else None
