"""Scans whose carry is cast to one dtype when a layer begins, and back to another when it ends."""

import ast
from collections.abc import Iterator

from scanify.analysis.plan import Remark
from scanify.analysis.remarks.scans.body import ScanBody, body_of
from scanify.analysis.remarks.seen import Seen

RULE = "SCN339"
_REMEDY = "cast the carry once before the scan and once behind it: it keeps its dtype from layer to layer then"


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`x = x.astype(jnp.float32)` first and `return x.astype(jnp.bfloat16), None` last."""
    body = body_of(seen, call)
    if body is None or not any(body.calls_of_layers()):
        return
    given = [_meant(body, each) for each in body.returned()]
    last = [each for each in given if isinstance(each, ast.Call) and _cast(each) is not None]
    if not last or len(last) != len(given):
        return
    casts = [each for each in body.nodes if isinstance(each, ast.Call) and _cast(each) is not None]
    first = [each for each in casts if _is_carry(each, body) and each not in last]
    loads = [each for each in body.nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    if not first or not all(_is_of_first(each, body, first) for each in loads if each.id == body.carry):
        return
    one, other = _cast(first[0]), _cast(last[0])
    if one is not None and other is not None and ast.dump(one) != ast.dump(other):
        reason = (
            f"the carry is cast to `{body.seen.code(one)}` in each layer and back to `{body.seen.code(other)}`: "
            "it is rounded each time"
        )
        yield body.seen.remark(last[0], RULE, reason, _REMEDY, first[0])


def _cast(call: ast.Call) -> ast.expr | None:
    """The dtype of `x.astype(dtype)`."""
    is_cast = isinstance(call.func, ast.Attribute) and call.func.attr == "astype" and len(call.args) == 1
    return call.args[0] if is_cast else None


def _is_carry(call: ast.Call, body: ScanBody) -> bool:
    return isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", None) == body.carry


def _is_of_first(load: ast.Name, body: ScanBody, casts: list[ast.Call]) -> bool:
    """Whether a read of the carry is in the cast, of its dtype, or behind a statement that casts it for good."""
    if any(getattr(each.func, "value", None) is load for each in casts):
        return True
    if any(isinstance(each, ast.Attribute) and each.value is load and each.attr == "dtype" for each in body.nodes):
        return True
    again = (
        each
        for each in body.nodes
        if isinstance(each, ast.Assign) and each.value in casts and getattr(each.targets[0], "id", None) == body.carry
    )
    return any(each.lineno < load.lineno for each in again)


def _meant(body: ScanBody, node: ast.expr) -> ast.expr:
    """What a name was assigned last in the body."""
    if not isinstance(node, ast.Name):
        return node
    values = [
        each.value
        for each in body.nodes
        if isinstance(each, ast.Assign) and getattr(each.targets[0], "id", None) == node.id
    ]
    return values[-1] if values else node
