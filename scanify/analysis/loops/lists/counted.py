"""How many elements a list has, as it is written: one for each of `range(n - 1)`, or of `split(key, n)`."""

import ast
from dataclasses import dataclass

from scanify.analysis.flow.statements import assignments
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.values.heap import Group, ListCell

_ONE_EACH = frozenset({"enumerate", "list", "tuple", "reversed", "tqdm"})


@dataclass(frozen=True)
class Counted:
    """`base` and `more`, as a number that some function computes: `n - 1` is `n` and -1."""

    function: ast.AST
    base: str
    more: int

    def __str__(self) -> str:
        return f"{self.base} {'-' if self.more < 0 else '+'} {abs(self.more)}" if self.more else self.base

    def differs(self, other: "Counted") -> bool:
        """Whether another number is shown to be another one."""
        return self.function is other.function and self.base == other.base and self.more != other.more


def counted(cell: ListCell) -> Counted | None:
    """The number of elements of a list that one comprehension or one loop makes; None where that is not written."""
    if not cell.whole or len(cell.groups) != 1 or not isinstance(cell.function, ast.FunctionDef):
        return None
    (group,) = cell.groups
    walked = _walked(group)
    number = _number(group.module, cell.function, walked) if walked is not None else None
    return _split_up(cell.function, number) if number is not None else None


def _walked(group: Group) -> ast.expr | None:
    """What is walked to make one element at a time: by a comprehension, or by a loop that appends each."""
    around = parent_of(group.module, group.node)
    if isinstance(around, ast.ListComp | ast.GeneratorExp):
        return around.generators[0].iter if len(around.generators) == 1 and not around.generators[0].ifs else None
    match around:
        case ast.Call(func=ast.Attribute(attr="append")) if len(group.loops) == 1 and not group.conditional:
            statement = parent_of(group.module, around)
            loop = parent_of(group.module, statement) if isinstance(statement, ast.Expr) else None
            if not isinstance(loop, ast.For) or any(
                isinstance(each, ast.Break | ast.Continue) for each in nodes_in(loop)
            ):
                return None
            return loop.iter
        case _:
            return None


def _number(module: Module, function: ast.FunctionDef, walked: ast.expr) -> ast.expr | None:
    """How often something that is walked gives an element."""
    if isinstance(walked, ast.Name):
        made = [each.value for each in assignments(function.body, walked.id) if isinstance(each, ast.Assign)]
        return _number(module, function, made[0]) if len(made) == 1 and not isinstance(made[0], ast.Name) else None
    match walked:
        case ast.Call(func=ast.Name(id="range"), args=[number], keywords=[]):
            return number
        case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in _ONE_EACH:
            return _number(module, function, inner)
        case ast.Call(func=called, args=[_, number], keywords=[]) if (dotted(called) or "").endswith("split"):
            return number
        case _:
            return None


def _split_up(function: ast.FunctionDef, number: ast.expr) -> Counted | None:
    """A name that is bound once, and what is added to it."""
    match number:
        case ast.BinOp(left=base, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(more))):
            sign = 1 if isinstance(op, ast.Add) else -1
        case _:
            base, more, sign = number, 0, 1
    name = dotted(base)
    if name is None or any(True for _ in assignments(function.body, name.partition(".")[0])):
        return None
    return Counted(function, name, sign * more)
