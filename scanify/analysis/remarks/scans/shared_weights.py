"""Lifted scans over layers that share the weights of one layer."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.scans.forms import LINEN, REMAT_SCAN, function_of
from scanify.analysis.remarks.view import View, keyword

RULE = "SCN336"
_COUNTS_LAYERS = re.compile(r"(?:^|_)(?:layers?|blocks?|depth)(?:_|$)", re.IGNORECASE)
_REMEDY = 'write `variable_axes={"params": 0}` and `split_rngs={"params": True}`, without `variable_broadcast`'


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check `nn.scan(Block, variable_broadcast="params", length=n_layers)`, which is right for a scan over time."""
    known = function_of(view, call)
    length = keyword(call, "lengths" if known in REMAT_SCAN else "length") if known in REMAT_SCAN | LINEN else None
    shared = keyword(call, "variable_broadcast")
    if length is None or shared is None or not counts_layers(length) or not _has_params(shared):
        return
    reason = f"all layers have the weights of one: `params` is broadcast over `{view.code(length)}`"
    yield view.remark(shared, RULE, reason, _REMEDY, call)


def counts_layers(length: ast.expr) -> bool:
    """True if the name of a number says that it counts layers."""
    names = (each.id if isinstance(each, ast.Name) else getattr(each, "attr", "") for each in nodes_in(length))
    return any(_COUNTS_LAYERS.search(name) for name in names)


def _has_params(shared: ast.expr) -> bool:
    """True if params are broadcast: `"params"`, `["params", "cache"]`, `True`."""
    return any(isinstance(each, ast.Constant) and each.value in ("params", True) for each in nodes_in(shared))
