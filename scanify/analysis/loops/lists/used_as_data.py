"""Whether the body of a loop uses what it walks as no module can be used: as a number, a text, a record, an array.

Asked before any code is run, since most loops of a project walk such things.
"""

import ast
from collections.abc import Sequence

from scanify.analysis.loops.lists.vocabulary import Vocabulary
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.classes import dotted

_NUMBERS = frozenset({"int", "float", "ord", "chr", "Path", "range"})
_COMPUTING = _NUMBERS | {"str", "bool", "abs", "round", "print", "repr"}
_ARRAYS = ("jax.numpy.", "numpy.", "math.", "os.path.", "jax.random.")
_CALLERS = ("vectorize", "apply_along_axis", "apply_over_axes", "piecewise", "frompyfunc", "fromfunction")
_ORDERED = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_ARITHMETIC = ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow | ast.LShift | ast.RShift | ast.BitAnd


def used_as_data(loop: Loop, walk: Walk, vocabulary: Vocabulary) -> bool:
    """Whether what a walk goes over is surely no module, nor holds any, by what the body does with it."""
    names = _names(walk.target)
    nodes = nodes_in(*loop.body)
    if any(isinstance(each, ast.Name) and each.id in names and isinstance(each.ctx, ast.Store) for each in nodes):
        return False  # another thing from there on
    return bool(names) and all(
        any(_is_data(each, name) for each in nodes)
        or not (_called(name, nodes) or vocabulary.has(_asked_of(name, nodes)))
        or (walk.element is None and _only_computed_with(loop, name, nodes))
        for name in names
    )


def _only_computed_with(loop: Loop, name: str, nodes: Sequence[ast.AST]) -> bool:
    """Whether all that a body does with a name is what no module can be used for: arithmetic, text, indexing."""
    uses = sum(1 for each in nodes if isinstance(each, ast.Name) and each.id == name)
    return 0 < uses == sum(1 for each in nodes for part in _computed_with(loop, each) if _is(part, name))


def _computed_with(loop: Loop, node: ast.AST) -> Sequence[ast.expr]:
    """The parts of an expression that no module can be."""
    match node:
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.UnaryOp(operand=operand):
            return (operand,) if not isinstance(node.op, ast.Not) else ()
        case ast.FormattedValue(value=value) | ast.AugAssign(value=value):
            return (value,)
        case ast.Subscript(slice=ast.Slice(lower, upper, step)):
            return [each for each in (lower, upper, step) if each is not None]
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return parts
        case ast.Subscript(slice=part):
            return (part,)
        case ast.Call(func=function, args=given) if _computes(loop, function):
            return given
        case _:
            return ()


def _computes(loop: Loop, function: ast.expr) -> bool:
    """Whether a function takes numbers, texts and arrays, and no modules."""
    name = dotted(function)
    if name is None:
        return False
    root, _, rest = name.partition(".")
    if root not in loop.module.imports:
        return not rest and name in _COMPUTING and not loop.module.binds(name)
    qualname = f"{loop.module.imports[root]}.{rest}" if rest else loop.module.imports[root]
    return qualname.startswith(_ARRAYS) and not qualname.endswith(_CALLERS)


def _names(target: ast.expr) -> tuple[str, ...]:
    """The names that elements are bound to; none where they are taken apart in a way that is not looked at."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return tuple(each.id for each in parts if isinstance(each, ast.Name)) if _are_names(parts) else ()


def _are_names(parts: Sequence[ast.expr]) -> bool:
    return all(isinstance(each, ast.Name) for each in parts)


def _called(name: str, nodes: Sequence[ast.AST]) -> bool:
    return any(isinstance(each, ast.Call) and _is(each.func, name) for each in nodes)


def _asked_of(name: str, nodes: Sequence[ast.AST]) -> frozenset[str]:
    """The attributes that are asked of what a name stands for."""
    return frozenset(
        each.attr
        for each in nodes
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == name
    )


def _is_data(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Subscript(slice=ast.Name(id=key)):
            return key == name
        case ast.Compare(left=ast.Name(id=left), ops=[ast.In() | ast.NotIn(), *_]):
            return left == name
        case ast.Compare(left=left, ops=ops, comparators=others):
            return any(isinstance(each, _ORDERED) for each in ops) and any(_is(each, name) for each in (left, *others))
        case ast.BinOp(left=left, op=op, right=right) if _is(left, name) or _is(right, name):
            constant = any(isinstance(each, ast.Constant) and not isinstance(each.value, str) for each in (left, right))
            return isinstance(op, _ARITHMETIC) or constant
        case ast.AugAssign(value=value):
            return _is(value, name)
        case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=given)]):
            return given == name and function in _NUMBERS
        case _:
            return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
