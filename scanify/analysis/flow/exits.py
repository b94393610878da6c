"""Statements that end an iteration of a loop early: in a function of one layer each is a `return`.

`continue` gives the carry as it is. After `break` and `return` no further layer is applied, so whether a layer is the
last one must be known when it is traced: from its index, from what all layers share, from its static fields.
"""

import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from scanify.analysis.flow.names import target_names
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import children
from scanify.analysis.lower.text import called, dotted, root

_LINES = "put the body on lines of its own"
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


def _traced_name(test: ast.AST, traced: Set[str], layers: Set[str]) -> str | None:
    """A name in a condition that makes its value one that is computed in the loop; None if none does.

    Static are fields of layers, `hasattr(layer, "last")` and the like.
    """
    match test:
        case ast.Name(id=name):
            return name if name in traced else None
        case ast.Call(func=ast.Attribute(value=owner), args=args, keywords=words):
            parts: Sequence[ast.AST] = [owner, *args, *words]
        case ast.Call() if called(test) in _STATIC_CALLS:
            parts = []
        case ast.Attribute() if dotted(test) is not None and root(test) in layers:
            parts = []
        case _:
            parts = children(test)
    found = (_traced_name(each, traced, layers) for each in parts)
    return next((each for each in found if each is not None), None)


def exit_problems(
    loop: Loop, exits: Sequence[Exit], bound: Set[str], layers: Set[str], collects: bool
) -> Iterator[Problem]:
    """The exits that a function of one layer cannot take over; `bound` are the names that the body binds."""
    body, node = loop.body[0], loop.node
    index = set(target_names(loop.index.target)) if loop.index is not None else set()
    traced = (set(loop.targets) - index) | bound
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
        name = next(
            (name for test in each.conditions if (name := _traced_name(test, traced, layers)) is not None), None
        )
        if name is not None:
            reason = f"`{each.word}` depends on `{name}`, which is computed in the loop; a scan cannot stop early"
            yield Problem("SCN205", reason, each.node)
        elif collects and each.word == "return":
            reason = "`return` ends a loop that also collects values, which is gone with what it returns"
            yield Problem("SCN205", reason, each.node, "end the loop with `break`, and return after it")
