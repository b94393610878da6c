"""Stacks built from fewer keys than layers."""

import ast
from collections.abc import Iterator

from scanify.analysis.plan import Remark
from scanify.analysis.remarks.view import View, names_read

RULE = "SCN337"
_VMAPS = frozenset("jax.vmap equinox.filter_vmap jax.pmap equinox.filter_pmap".split())


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `eqx.filter_vmap(Block)(keys[1:-2])` with `keys = jax.random.split(key, n_blocks + 2)`: too few blocks."""
    for given in call.args:
        match given:
            case ast.Subscript(value=ast.Name() as keys, slice=ast.Slice(lower=first, upper=last, step=None)):
                made = view.value(keys)
            case _:
                continue
        split = _parts(view, made)
        left_out = (_number(first) or 0) - (_number(last) or 0)
        if split is None or None in (_number(first), _number(last)):
            continue
        number, more = split
        if 0 < more < left_out and 0 < _taken(view, given, keys) < left_out and _is_mapped(view, call.func):
            text, part = view.code(number), view.code(given)
            reason = f"`{part}` leaves out {left_out} of `{text} + {more}` keys: it builds fewer than `{text}` layers"
            remedy = f"split the key into `{text} + {left_out}`, or leave out {more}"
            yield view.remark(given, RULE, reason, remedy, made)


def _is_mapped(view: View, function: ast.expr) -> bool:
    """True for `eqx.filter_vmap(Block)`, and for a function decorated with it."""
    made, found = view.value(function), view.body(function)
    if isinstance(made, ast.Call):
        return view.called(made.func) in _VMAPS
    decorators = getattr(found.node, "decorator_list", ()) if found is not None else ()
    return any(view.called(getattr(each, "func", each)) in _VMAPS for each in decorators)


def _parts(view: View, keys: ast.expr) -> tuple[ast.expr, int] | None:
    """Return n and 2 for `jax.random.split(key, n + 2)`."""
    match keys:
        case ast.Call(func=split, args=[_, ast.BinOp(left=one, op=ast.Add(), right=other)]):
            pairs = [(one, other), (other, one)] if view.called(split) == "jax.random.split" else []
            known = ((number, _number(more)) for number, more in pairs)
            return next(((number, more) for number, more in known if more is not None), None)
        case _:
            return None


def _number(bound: ast.expr | None) -> int | None:
    """Return the number of an index or a slice bound: 0 if there is none, None if it is not a literal."""
    match bound:
        case None:
            return 0
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case _:
            return None


def _taken(view: View, given: ast.Subscript, keys: ast.Name) -> int:
    """Return how many keys are used individually, `keys[0]`, `keys[-1]`; 0 if another use may read any of them."""
    found: set[int | None] = set()
    for name in names_read(next(view.functions_around(given), view.module.tree)):
        above = view.parent(name)
        if name.id == keys.id and above is not given:
            found.add(_number(above.slice) if isinstance(above, ast.Subscript) else None)
    return 0 if None in found else len(found)
