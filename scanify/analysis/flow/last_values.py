"""Names that every iteration recomputes and that are read after the loop: their last values.

Such a name can be one more carry, which no layer reads. It starts with the value before the loop, so that an empty
list, or a layer that does not compute it, leaves it unchanged as in the loop.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.around import path_to
from scanify.analysis.flow.names import Names, flow
from scanify.analysis.flow.statements import assignments
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.scope import FUNCTIONS, ancestors


@dataclass(frozen=True)
class LastValues:
    """`names` are the names, `unset` the subset without a value before the loop."""

    names: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()


def last_values(loop: Loop, names: Names, carried: Sequence[str], after: Mapping[str, ast.AST]) -> LastValues:
    """Return the names whose last values a scan can return, if they are arrays."""
    wanted = [name for name in names.bound if name in after and name not in carried]
    if not wanted or not carried:
        return LastValues()
    definite = set.intersection(*names.exits, names.definite)
    before = flow(path_to(loop))
    given = loop.scope.params if not isinstance(loop.scope.node, ast.Module) else ()
    kept, unset = [], []
    for name in wanted:
        if name in before.definite or (name in given and name not in before.bound):
            kept.append(name)
        elif name not in before.bound and name in definite and not _set_elsewhere(loop, name):
            kept.append(name)
            unset.append(name)
    return LastValues(tuple(kept), tuple(unset))


def _set_elsewhere(loop: Loop, name: str) -> bool:
    """True if an enclosing loop binds the name outside this loop, so that the value may come back."""
    for above in ancestors(loop.module, loop.node):
        if isinstance(above, FUNCTIONS):
            break
        if isinstance(above, ast.For | ast.While):
            inside = assignments([loop.node], name)
            return any(each not in inside for each in assignments([above], name))
    return False
