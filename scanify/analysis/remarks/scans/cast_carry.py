"""Scans whose carry is cast to one dtype when a layer begins, and back to another when it ends."""

import ast
from collections.abc import Iterator

from scanify.analysis.plan import Remark
from scanify.analysis.remarks.scans.body import ScanBody, body_of
from scanify.analysis.remarks.view import View, names_read

RULE = "SCN339"
_REMEDY = "cast the carry once before the scan and once behind it: it keeps its dtype from layer to layer then"


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """`x = x.astype(jnp.float32)` first and `return x.astype(jnp.bfloat16), None` last."""
    body = body_of(view, call)
    first = _first_cast(body) if body is not None and any(body.calls_of_layers()) else None
    if body is None or first is None:
        return
    casts = list(_returned(body))
    last = casts[0] if casts and None not in casts else None
    if last is not None and ast.dump(first.args[0]) != ast.dump(last.args[0]):
        there, back = (body.view.code(each.args[0]) for each in (first, last))
        reason = f"the carry is cast to `{there}` in each layer and back to `{back}`: it is rounded each time"
        yield body.view.remark(last, RULE, reason, _REMEDY, first)


def _first_cast(body: ScanBody) -> ast.Call | None:
    """Return the first `carry.astype(dtype)` if nothing else is read of the carry before it is bound again."""
    stores = [each for each in body.nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    rebound = min((each.lineno for each in stores if each.id == body.carry), default=None)
    found: list[ast.Call] = []
    for name in names_read(*body.code):
        above = body.view.parent(name)
        of_dtype = isinstance(above, ast.Attribute) and above.attr == "dtype"
        if name.id != body.carry or of_dtype or (rebound is not None and name.lineno > rebound):
            continue
        cast = body.view.parent(above) if isinstance(above, ast.Attribute) else None
        if cast is None or (cast := _cast(cast)) is None:
            return None
        found.append(cast)
    return found[0] if found else None


def _returned(body: ScanBody) -> Iterator[ast.Call | None]:
    """Yield the cast in each carry that the body returns, None for a carry that is no cast."""
    returns = [each.value for each in body.nodes if isinstance(each, ast.Return)]
    for value in [body.node.body] if isinstance(body.node, ast.Lambda) else returns:
        carry = value.elts[0] if isinstance(value, ast.Tuple) and len(value.elts) == 2 else value
        if isinstance(carry, ast.Name):
            values = [each.value for each in body.nodes if isinstance(each, ast.Assign) and _binds(each, carry.id)]
            carry = values[-1] if values else carry
        yield _cast(carry)


def _binds(statement: ast.Assign, name: str) -> bool:
    return getattr(statement.targets[0], "id", None) == name


def _cast(node: ast.AST | None) -> ast.Call | None:
    """Return `x.astype(dtype)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="astype"), args=[_]):
            return node
        case _:
            return None
