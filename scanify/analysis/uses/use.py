"""One use of a list, and the uses that keep it a Python list."""

import ast
from dataclasses import dataclass

from scanify.analysis.facts import Place
from scanify.analysis.stack import CallStack


@dataclass(frozen=True, eq=False)
class Use:
    """One use of a list, at the expression `node`.

    `what` says why the use needs a Python list: "the list itself is returned"; empty if a stack serves it.
    `changes`: it may put other layers into the list, or write into one. `rule` names the page about it, if any.
    """

    place: Place
    node: ast.AST | None = None
    what: str = ""
    rule: str = ""
    changes: bool = False


@dataclass(frozen=True)
class Uses:
    """The first use of a list that needs a Python list, and the first that may change the list."""

    keeps: Use | None = None
    changes: Use | None = None

    @property
    def in_call(self) -> CallStack | None:
        """Why the list stays a list and is stacked in the call; None if it can be built stacked."""
        return CallStack(self.keeps.what, self.keeps.place, self.keeps.rule) if self.keeps is not None else None
