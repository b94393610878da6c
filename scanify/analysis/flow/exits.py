"""Statements that end an iteration of a loop early: each becomes a `return` in the function of one layer.

`continue` returns the current carry. After `break` and `return` no further layer is applied, so tracing must know
which layer is the last one: from its index, from values that all layers share, or from its static fields.
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
    """One early exit: the statement, and the conditions around it, outermost first."""

    node: Leaving
    conditions: tuple[ast.expr, ...]

    @property
    def word(self) -> str:
        """`continue`, `break` or `return`."""
        return type(self.node).__name__.lower()


def exits_of(
    statements: Sequence[ast.AST], conditions: tuple[ast.expr, ...] = (), *, inner: bool = False
) -> Iterator[Exit]:
    """Yield the statements of a loop's body that end an iteration of it early.

    `inner`: the statements belong to a nested loop, which has its own `break` and `continue`.
    """
    for node in statements:
        match node:
            case ast.Return():
                yield Exit(node, conditions)
            case ast.Break() | ast.Continue() if not inner:
                yield Exit(node, conditions)
            case ast.If():
                yield from exits_of([*node.body, *node.orelse], (*conditions, node.test), inner=inner)
            case ast.With() | ast.AsyncWith():
                yield from exits_of(node.body, conditions, inner=inner)
            case ast.For() | ast.While():
                head = node.iter if isinstance(node, ast.For) else node.test
                yield from exits_of([*node.body, *node.orelse], (*conditions, head), inner=True)


def exit_problems(
    loop: Loop, exits: Sequence[Exit], bound: Set[str], layers: Set[str], collects: bool
) -> Iterator[Problem]:
    """Yield the exits that a function of one layer cannot have; `bound` are the names that the body binds."""
    body, node = loop.body[0], loop.node
    index = set(target_names(loop.index.target)) if loop.index is not None else set()
    traced = (set(loop.targets) - index) | bound
    on_one_line = isinstance(node, ast.For) and body.lineno == (node.iter.end_lineno or node.lineno)
    for each in exits:
        names = [name for test in each.conditions for name in _values_in(test, layers) if name in traced]
        if on_one_line:
            yield Problem("SCN205", f"`{each.word}` stands on the same line as the `for`", each.node, _LINES)
        elif each.word != "continue" and names:
            reason = f"`{each.word}` depends on `{names[0]}`, which is computed in the loop; a scan cannot stop early"
            yield Problem("SCN205", reason, each.node)
        elif each.word == "return" and collects:
            reason = "`return` ends a loop that also collects values, which is gone with what it returns"
            yield Problem("SCN205", reason, each.node, "end the loop with `break`, and return after it")


def _values_in(test: ast.AST, layers: Set[str]) -> Iterator[str]:
    """Yield the names in a condition whose value it needs; fields of layers and `hasattr(layer, "last")` are static."""
    if isinstance(test, ast.Name):
        yield test.id
    if called(test) in _STATIC_CALLS or (isinstance(test, ast.Attribute) and dotted(test) and root(test) in layers):
        return
    parts: list[ast.AST] = children(test)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        parts = [test.func.value, *test.args, *test.keywords]
    for part in parts:
        yield from _values_in(part, layers)
