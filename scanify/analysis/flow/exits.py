"""Statements that end an iteration of a loop early: in a function of one layer each is a `return`.

`continue` gives the carry as it is. After `break` and `return` no further layer is applied, so whether a layer is the
last one must be known when it is traced: from its index, from what all layers share, from its static fields.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.flow.names import Names, target_names
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import children
from scanify.analysis.lower.text import called, dotted, root

_LINES = "put the body on lines of its own"
_MEASURES = frozenset("shape ndim size dtype".split())
_STATIC_CALLS = frozenset("isinstance issubclass callable hasattr len type".split())
Leaving = ast.Break | ast.Continue | ast.Return


@dataclass(frozen=True, eq=False)
class Exit:
    """One early exit: the statement, and the conditions that it stands under, the outermost first."""

    node: Leaving
    conditions: tuple[ast.expr, ...]

    @property
    def word(self) -> str:
        """`continue`, `break` or `return`."""
        return type(self.node).__name__.lower()


def exits_of(
    statements: Sequence[ast.AST], conditions: tuple[ast.expr, ...] = (), *, inner: bool = False
) -> Iterator[Exit]:
    """The statements of a loop's body that end an iteration of it early.

    `inner` says that the statements are those of a loop in it, whose `break` and `continue` are its own.
    """
    for node in statements:
        match node:
            case ast.Return():
                yield Exit(node, conditions)
            case ast.Break() | ast.Continue() if not inner:
                yield Exit(node, conditions)
            case ast.If():
                yield from exits_of(node.body, (*conditions, node.test), inner=inner)
                yield from exits_of(node.orelse, (*conditions, node.test), inner=inner)
            case ast.With() | ast.AsyncWith():
                yield from exits_of(node.body, conditions, inner=inner)
            case ast.For():
                yield from exits_of(node.body, (*conditions, node.iter), inner=True)
                yield from exits_of(node.orelse, conditions, inner=inner)
            case ast.While():
                yield from exits_of(node.body, (*conditions, node.test), inner=True)
                yield from exits_of(node.orelse, conditions, inner=inner)
            case _:
                pass


class Traced:
    """Tells what of a body is known when it is traced from what is computed in the loop."""

    def __init__(self, loop: Loop, names: Names, layers: frozenset[str]) -> None:
        self._layers = layers
        index = set(target_names(loop.index.target)) if loop.index is not None else set()
        self._traced = (set(loop.targets) | set(names.bound)) - (index - set(names.bound))
        if loop.carry is not None:
            self._traced.add(loop.carry)

    def first_name(self, node: ast.AST) -> str | None:
        """A name in an expression that makes its value one that is computed in the loop; None where none does."""
        match node:
            case ast.Name():
                return node.id if node.id in self._traced else None
            case ast.Compare() if all(map(_is_identity, node.ops)) and all(map(_is_none, node.comparators)):
                return None
            case ast.Call() if called(node) in _STATIC_CALLS:
                return None
            case ast.Call(func=ast.Attribute() as func):
                names = (self.first_name(each) for each in (func.value, *node.args, *node.keywords))
                return next((name for name in names if name is not None), None)
            case ast.Attribute():
                field = dotted(node) is not None and root(node) in self._layers
                return None if field or node.attr in _MEASURES else self.first_name(node.value)
            case _:
                names = (self.first_name(child) for child in children(node))
                return next((name for name in names if name is not None), None)


def exit_problems(loop: Loop, exits: Sequence[Exit], traced: Traced, collects: bool) -> Iterator[Problem]:
    """The exits that a function of one layer cannot take over."""
    body = loop.body[0]
    node = loop.node
    on_one_line = isinstance(node, ast.For) and body.lineno == (node.iter.end_lineno or node.lineno)
    for each in exits:
        if on_one_line:
            yield Problem(
                "SCN205",
                f"`{each.word}` stands on the same line as the `for`",
                each.node,
                _LINES,
            )
            continue
        if each.word == "continue":
            continue
        name = next((name for test in each.conditions if (name := traced.first_name(test)) is not None), None)
        if name is not None:
            reason = f"`{each.word}` depends on `{name}`, which is computed in the loop; a scan cannot stop early"
            yield Problem("SCN205", reason, each.node)
        elif collects and each.word == "return":
            reason = "`return` ends a loop that also collects values, which is gone with what it returns"
            yield Problem("SCN205", reason, each.node, "end the loop with `break`, and return after it")


def _is_identity(operator: ast.cmpop) -> bool:
    return isinstance(operator, ast.Is | ast.IsNot)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
