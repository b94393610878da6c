"""Statements of a body that a function of one layer cannot hold, and types that a scan changes."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.statements import statements_in
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import children, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS
from scanify.analysis.lower.text import dotted

_WORDS = {
    "ClassDef": "a class definition",
    "Import": "an import",
    "ImportFrom": "an import",
    "AsyncFor": "`async for`",
    "AsyncWith": "`async with`",
    "TryStar": "`try`",
    "Delete": "`del`",
    "Match": "`match`",
    "While": "`while`",
    "Try": "`try`",
    "AsyncFunctionDef": "an asynchronous function",
    "TypeAlias": "a type alias",
}
_PAUSES = "pauses the loop in the middle of an iteration; a scan cannot pause"
_NUMBER_TYPES = frozenset("int float bool complex Number Integral Real ndarray generic".split())


def unsupported(loop: Loop) -> Iterator[Problem]:
    """Yield the statements of a body that are not possible in a function of one layer, in source order."""
    for statement in statements_in(loop.body):
        match statement:
            case ast.Global() | ast.Nonlocal():
                word = type(statement).__name__.lower()
                yield Problem(
                    "SCN207", f"`{word}` assigns a name outside of the loop; a scan does that once", statement
                )
            case ast.AnnAssign(value=None):
                # In a local function it would make the name local.
                yield Problem("SCN212", "an annotation without a value cannot move into a function", statement)
            case ast.For(orelse=[first, *_]):
                yield Problem("SCN212", "a `for` with an `else` cannot stand in the function of a scan", first)
            case ast.Expr(value=value) if not isinstance(value, ast.Call | ast.Constant | ast.Yield | ast.Await):
                if loop.element is None and not isinstance(value, ast.YieldFrom):
                    yield Problem("SCN212", "an expression in the body is computed and not used", statement)
            case _ if type(statement).__name__ in _WORDS:
                yield Problem(
                    "SCN212", f"{_WORDS[type(statement).__name__]} cannot stand in the function of a scan", statement
                )
        yield from _leaving(statement)


def _leaving(statement: ast.AST) -> Iterator[Problem]:
    """Yield each `yield` and `await` in the expressions of one statement."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            word = type(node).__name__.lower().removesuffix("from")
            yield Problem("SCN205", f"`{word}` {_PAUSES}", node)
        if isinstance(node, ast.comprehension) and node.is_async:
            yield Problem("SCN205", f"`async for` {_PAUSES}", node.iter)
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            waiting.extend(each for each in children(node) if not isinstance(each, ast.stmt))


def number_types(loop: Loop, own: frozenset[str]) -> Iterator[Problem]:
    """Yield the places where a body tests if a value is a Python number; `own` are the names that the loop binds."""
    for node in nodes_in(*loop.body):
        match node:
            case ast.Call(func=ast.Name("isinstance"), args=[value, cls]) if dotted(value) in own:
                names = {(dotted(each) or "").rpartition(".")[2] for each in nodes_in(cls)}
                if names & _NUMBER_TYPES:
                    reason = f"`{loop.code(node)}` asks for the type of a number; in a scan it is a tracer"
                    yield Problem("SCN208", reason, node)
