"""Loops that count their iterations by hand, read as loops over numbers:

    i = 0                                   i = 0
    for layer in self.layers:               while i < len(self.layers):
        x = layer(x, caches[i])                 x = self.layers[i](x)
        i += 1                                  i += 1

Such a number is no value that goes from layer to layer: it is the same plain number in every run, as Python code that
branches on it or takes an element of a list with it needs.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.flow.around import read_after
from scanify.analysis.flow.names import flow, reads
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.rebuild import above_in_block
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.lower.text import dotted, pure

_CLOSURES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.GeneratorExp)


@dataclass(frozen=True, eq=False)
class Counter:
    """A counter: its name, the number that it begins with, the statement that sets it to that, the one that counts."""

    name: str
    first: int
    begins: ast.stmt
    counts: ast.stmt


def counter_of(loop: Loop) -> Counter | None:
    """The counter of a loop, where it has one that nothing else may read or set."""
    node = loop.node
    if not isinstance(node, ast.For | ast.While) or node.orelse or len(loop.body) < 2:
        return None
    counts = loop.body[-1]
    name = _counted(counts)
    start = _start(loop, name) if name is not None else None
    if name is None or start is None:
        return None
    again = any(_continues(statement) for statement in loop.body)
    if again or name in flow(loop.body[:-1]).bound or name in loop.targets or _seen(loop, name):
        return None
    return Counter(name, start[0], start[1], counts)


def bound_of(loop: Loop, counter: str) -> ast.expr | None:
    """What a `while` counts to: `n` of `while i < n`, where that is the same in every iteration."""
    test = loop.node.test if isinstance(loop.node, ast.While) else None
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Lt() | ast.NotEq()], comparators=[bound]) if name == counter:
            pass
        case ast.Compare(left=bound, ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Name(id=name)]) if name == counter:
            pass
        case _:
            return None
    return bound if pure(bound) and not set(reads(bound)) & set(flow(loop.body).bound) else None


def _counted(statement: ast.stmt) -> str | None:
    """The name in a statement `i += 1` or `i = i + 1`."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=1)):
            return name
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1))
        ):
            return name if dotted(left) == name else None
        case _:
            return None


def _start(loop: Loop, name: str) -> tuple[int, ast.stmt] | None:
    """The number that a name is given above a loop, in the very block that the loop stands in."""
    assert isinstance(loop.node, ast.stmt)
    for statement in reversed(above_in_block(loop.module, loop.node)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=given)], value=ast.Constant(value=int() as number)) if given == name:
                return (number, statement) if type(number) is int else None
        if name in flow([statement]).bound:
            return None
    return None


def _continues(node: ast.AST) -> bool:
    if isinstance(node, ast.Continue):
        return True
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.expr, ast.For, ast.While)):
        return False
    return any(_continues(child) for child in children(node))


def _seen(loop: Loop, name: str) -> bool:
    """Whether anything else than the loop may read its counter: what is below it, or a function made around it."""
    if name in read_after(loop):
        return True
    for above in ancestors(loop.module, loop.node):
        if isinstance(above, ast.Try | ast.TryStar | ast.ClassDef | ast.Module):
            return True
        if isinstance(above, FUNCTIONS):
            return _is_declared(above, name) or _in_closure(above.body, name)
    return True


def _is_declared(function: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Global | ast.Nonlocal) and name in each.names for each in nodes_in(function))


def _in_closure(nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether one of the functions, lambdas and generators within some nodes reads a name of the code around it."""
    for node in nodes:
        if isinstance(node, _CLOSURES):
            if name in reads(node):
                return True
        elif _in_closure(list(children(node)), name):
            return True
    return False
