"""Carries that a body leaves in another shape, as far as the last expression that it assigns to them says so."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import nodes_in

# Functions and methods that give another shape than that of what they are given, whatever their other arguments are.
_RESIZING = frozenset(
    "concatenate concat stack hstack vstack dstack append pad repeat tile kron outer ravel flatten squeeze expand_dims "
    "resize".split()
)
_REDUCING = frozenset("mean sum max min prod median std var".split())


def resized(loop: Loop, carry: Sequence[str]) -> Iterator[str]:
    """Obligations about carries that the body ends with an expression of another shape."""
    for name in carry:
        values = [value for each in assignments(loop.body, name) for value in value_given(each, name)]
        if values and _resizes(values[-1], name):
            yield f"`{name}` has the same shape after `{loop.code(values[-1])}` as before"


def _resizes(value: ast.expr, name: str) -> bool:
    """Whether the outermost operation of an expression gives a carry back with other axes."""
    match value:
        case ast.Call(func=ast.Attribute(attr=method)) | ast.Call(func=ast.Name(id=method)) if method in _RESIZING:
            each_row = bool(value.args) and isinstance(value.args[0], ast.ListComp | ast.GeneratorExp)
            return not each_row and _reads(value, name)
        case ast.Call(func=ast.Attribute(attr=method)) if method in _REDUCING:
            kept = any(keyword.arg == "keepdims" for keyword in value.keywords)
            return not kept and _reads(value, name)
        case ast.Subscript(value=ast.Name(id=whole), slice=inner) if whole == name:
            return any(_cuts(part) for part in (inner.elts if isinstance(inner, ast.Tuple) else [inner]))
        case _:
            return False


def _cuts(part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return part.lower is not None or part.upper is not None or part.step is not None
    return isinstance(part, ast.Constant) and part.value is not ...


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in nodes_in(node))
