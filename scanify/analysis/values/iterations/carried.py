"""What names hold at the beginning of an iteration, as the one before has left it."""

import ast

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.domain import (
    Class,
    Const,
    Function,
    Instance,
    Library,
    Listed,
    Mapped,
    Value,
    join,
    marked,
)
from scanify.analysis.values.iterations.iteration import HOW_IT_VARIES
from scanify.analysis.values.marks import Mark, Vary


def is_literal(loop: ast.stmt, name: str, before: Value, after: Value) -> bool:
    """Whether each iteration leaves a name the same constant, which is not made of the one before: `fan_in = 64`."""
    if not isinstance(after, Const):
        return False
    if not isinstance(before, Const):
        return True
    bound = [each for each in nodes_in(loop) if isinstance(each, ast.Name) and each.id == name]
    stores = sum(1 for each in bound if not isinstance(each.ctx, ast.Load))
    given = [each for each in nodes_in(loop) if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)]
    literal = sum(1 for each in given for target in each.targets if isinstance(target, ast.Name) and target.id == name)
    return stores == literal == 1


def carried_on(before: Value, after: Value, loop: int, name: str, among: bool) -> Value:
    """What a name holds at the beginning of an iteration that the one before has left it.

    `among` says that the iteration before leaves it one of the values that names had before the loop.
    """
    value = join([before, after])
    how = HOW_IT_VARIES.get(type(value), Vary.OTHER)
    if isinstance(value, Const):
        return value
    if among and how is not Vary.KEY:
        return marked(value, (Mark(loop, Vary.CHOICE, name),))
    if isinstance(value, Listed | Mapped | Instance | Function | Class | Library):
        return value
    return marked(value, (Mark(loop, how, name),))
