"""Shapes that are asked for by the sizes of the array itself: `jax.image.resize(x, (c, 2 * h, 2 * w), "nearest")`."""

import ast
from collections.abc import Sequence

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.size import LONGER, SAME, SHORTER, Change

_DEEP = 3  # names that stand for what other names stand for
_GROWS, _SHRINKS = ast.Mult | ast.LShift, ast.FloorDiv | ast.RShift


def asked_for(env: Env, call: ast.Call) -> tuple[Change, Change]:
    """How the shape that a call asks for differs from that of its first argument: along its axes, and as a whole."""
    shape = (
        call.args[1]
        if len(call.args) > 1
        else next((each.value for each in call.keywords if each.arg == "shape"), None)
    )
    if not call.args or not isinstance(shape, ast.Tuple | ast.List):
        return None, None
    array = ast.unparse(call.args[0])
    changes = [_change(env, each, array, _DEEP) for each in shape.elts]
    if None in changes or {LONGER, SHORTER} <= set(changes):
        return None, None
    change = next((each for each in changes if each != SAME), SAME)
    return change, change


def _change(env: Env, size: ast.expr, array: str, deep: int) -> Change:
    """How a size differs from that of an axis of an array; None where that is not known."""
    match size:
        case ast.Subscript(value=ast.Attribute(value=owner, attr="shape")):
            return SAME if ast.unparse(owner) == array else None
        case ast.BinOp(left=left, op=op, right=ast.Constant(value=int(by))) if by > 1:
            return _moved(_change(env, left, array, deep), op)
        case ast.BinOp(left=ast.Constant(value=int(by)), op=ast.Mult() as op, right=right) if by > 1:
            return _moved(_change(env, right, array, deep), op)
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return _change(env, inner, array, deep)
        case ast.Name(id=name) if deep:
            return _of_name(env, name, array, deep)
        case _:
            return None


def _moved(before: Change, op: ast.operator) -> Change:
    if isinstance(op, _GROWS):
        return LONGER if before in (SAME, LONGER) else None
    return SHORTER if isinstance(op, _SHRINKS) and before in (SAME, SHORTER) else None


def _of_name(env: Env, name: str, array: str, deep: int) -> Change:
    """The same of a name that one statement of the function binds: `c, h, w = x.shape`, `wide = 2 * w`."""
    bound = _bindings(env.function, name)
    if len(bound) != 1 or bound[0] is None:
        return None
    target, value = bound[0]
    if isinstance(target, ast.Name):
        return _change(env, value, array, deep - 1)
    of_shape = isinstance(value, ast.Attribute) and value.attr == "shape" and ast.unparse(value.value) == array
    return SAME if of_shape and isinstance(target, ast.Tuple) else None


def _bindings(function: ast.AST | None, name: str) -> Sequence[tuple[ast.expr, ast.expr] | None]:
    """The statements that bind a name of a function: what they assign to, and what; None for other ways."""
    found: list[tuple[ast.expr, ast.expr] | None] = []
    nodes = list(nodes_in(function)) if function is not None else []
    assigned: set[ast.AST] = set()
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            names = [each for each in nodes_in(target) if isinstance(each, ast.Name) and each.id == name]
            if names:
                found.append((target, node.value))
                assigned |= set(names)
    others = (
        each
        for each in nodes
        if (isinstance(each, ast.arg) and each.arg == name)
        or (isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store) and each not in assigned)
    )
    found += [None for _ in others]
    return found
