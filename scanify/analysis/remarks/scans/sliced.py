"""Arguments that all layers are meant to share, but that a scan slices into one part per layer."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.plan import Remark
from scanify.analysis.remarks.keys import is_array_parameter
from scanify.analysis.remarks.scans.body import body_of
from scanify.analysis.remarks.scans.forms import LAX, applied_stack
from scanify.analysis.remarks.stacks import STACKED, kind_of
from scanify.analysis.remarks.view import View, argument

RULE = "SCN331"
_MASKS = frozenset(
    f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("tril", "triu", "eye", "identity")
)
# Names that usually mean an array with one part for each layer.
_PER_LAYER = re.compile(r"cache|state|layer|per_|stack|key|kv|scale|rate|carry|rng", re.IGNORECASE)
_SLICED = "is sliced along its first axis, one part for each layer"
_CLOSE = "let the function that is applied to each layer close over it: `fold_via(lambda block, x: block(x, mask))(x)`"


def remarks(view: View, call: ast.Call) -> Iterator[Remark]:
    """Check plain arrays in `Stacked.fold_via(Block.__call__)(x, mask)`, and masks among the xs of a scan.

    Haliax slices plain arrays along their first axis; `jax.lax.scan(f, x, (layers, mask))` slices a mask over tokens.
    """
    stack = applied_stack(view, call)
    if stack is not None and kind_of(view.project, view.module, stack) == STACKED:
        for given in (*call.args[1:], *(each.value for each in call.keywords)):
            if _is_mask(view, given) or _is_shared_array(view, given):
                reason = f"`{view.code(given)}` {_SLICED}: a plain array is not shared"
                yield view.remark(given, RULE, reason, _CLOSE, call)
    xs = argument(call, 2, "xs") if view.called(call.func) in LAX else None
    masks = [each for each in getattr(view.value(xs), "elts", ()) if _is_mask(view, each)] if xs is not None else []
    body = body_of(view, call) if masks else None
    for given in masks if body is not None and any(body.calls_of_layers()) else ():
        reason = f"`{view.code(given)}` {_SLICED}: it is among the xs"
        yield view.remark(given, RULE, reason, "let the body of the scan close over it", call)


def _is_mask(view: View, node: ast.expr) -> bool:
    """True if an array is built as a matrix over tokens: `jnp.tril(jnp.ones((n, n)))`."""
    made = view.value(node)
    return isinstance(made, ast.Call) and view.called(made.func) in _MASKS


def _is_shared_array(view: View, given: ast.expr) -> bool:
    """True for a parameter declared as a plain array whose name does not suggest one part for each layer."""
    return isinstance(given, ast.Name) and not _PER_LAYER.search(given.id) and is_array_parameter(view, given)
