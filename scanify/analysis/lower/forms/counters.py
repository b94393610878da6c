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
from scanify.analysis.lower.forms.rebuild import above_in_block
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.lower.text import dotted, pure

_CLOSURES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.GeneratorExp)


@dataclass(frozen=True, eq=False)
class Counter:
    """A counter: its name, the number that it begins with, the statement that sets it to that, the one that counts.

    `step` is 1, or -1 where it counts down.
    """

    name: str
    first: ast.expr
    begins: ast.stmt
    counts: ast.stmt
    step: int = 1

    @property
    def number(self) -> int | None:
        """The number that it begins with, where that is written there."""
        return self.first.value if isinstance(self.first, ast.Constant) and type(self.first.value) is int else None


def counter_of(loop: Loop) -> Counter | None:
    """The counter of a loop, where it has one that nothing else may read or set."""
    node = loop.node
    if not isinstance(node, ast.For | ast.While) or node.orelse or len(loop.body) < 2:
        return None
    counts = loop.body[-1]
    name, step = _counted(counts)
    start = _start(loop, name) if name is not None else None
    if name is None or start is None:
        return None
    again = any(_continues(statement) for statement in loop.body)
    if again or name in flow(loop.body[:-1]).bound or name in loop.targets or _seen(loop, name):
        return None
    counter = Counter(name, start[0], start[1], counts, step)
    plain = step == 1 and counter.number is not None
    return counter if plain or isinstance(node, ast.While) else None


def numbers_counted(loop: Loop, counter: Counter) -> str | None:
    """What a `while` counts through, as a `range`: `range(n)` for `while i < n`."""
    first = loop.module.code(counter.first)
    if counter.step == -1:
        down = isinstance(loop.node, ast.While) and ast.unparse(loop.node.test) in _to_zero(counter.name)
        return f"range({first}, -1, -1)" if down else None
    bound = _bound(loop, counter.name)
    if bound is None:
        return None
    return f"range({f'{first}, ' if counter.number != 0 else ''}{loop.module.code(bound)})"


def _to_zero(name: str) -> tuple[str, ...]:
    return f"{name} >= 0", f"{name} > -1", f"0 <= {name}", f"-1 < {name}", f"{name} != -1"


def _bound(loop: Loop, counter: str) -> ast.expr | None:
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


def _counted(statement: ast.stmt) -> tuple[str | None, int]:
    """The name in a statement `i += 1` or `i = i + 1`, and the step."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub() as op, value=ast.Constant(value=1)):
            return name, _step(op)
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=1)),
        ) if dotted(left) == name:
            return name, _step(op)
        case _:
            return None, 0


def _step(op: ast.operator) -> int:
    return 1 if isinstance(op, ast.Add) else -1


def _start(loop: Loop, name: str) -> tuple[ast.expr, ast.stmt] | None:
    """The number that a name is given above a loop, in the very block that the loop stands in.

    One that is computed must be the same where the loop begins: nothing in between mentions what it is made of.
    """
    assert isinstance(loop.node, ast.stmt)
    between: list[ast.stmt] = []
    for statement in reversed(above_in_block(loop.module, loop.node)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                if isinstance(value, ast.Constant):
                    return (value, statement) if type(value.value) is int else None
                parts = set(reads(value))
                same = pure(value) and not parts & set(flow(loop.body).bound)
                mentioned = any(isinstance(each, ast.Name) and each.id in parts for each in nodes_in(*between))
                return (value, statement) if same and not mentioned else None
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                for target, number in zip(names, values, strict=True):
                    plain = isinstance(number, ast.Constant) and type(number.value) is int
                    if plain and isinstance(target, ast.Name) and target.id == name:
                        return number, statement
        if name in flow([statement]).bound:
            return None
        between.append(statement)
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
