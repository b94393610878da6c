"""Arguments that all layers are meant to share, and that a scan slices, one part for each layer."""

import ast
import re
from collections.abc import Iterator

from scanify.analysis.lower.scope import parent_of
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.kinds import is_array_parameter
from scanify.analysis.remarks.scans.body import body_of
from scanify.analysis.remarks.scans.forms import LAX, VIAS, applied_stack
from scanify.analysis.remarks.seen import Seen, argument, names_read
from scanify.analysis.remarks.stacks import STACKED, kind_of

RULE = "SCN331"
_MASKS = frozenset(
    f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("tril", "triu", "eye", "identity")
)
# Parameters that are of one array for each layer, by what everyone calls such.
_PER_LAYER = re.compile(r"cache|state|layer|per_|stack|key|kv|scale|rate|carry|rng", re.IGNORECASE)
_CLOSE = "let the function that is applied to each layer close over it: `fold_via(lambda block, x: block(x, mask))(x)`"


def remarks(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`Stacked.fold_via(Block.__call__)(x, mask)` with a plain array, which haliax slices along its first axis."""
    for applied in (call, *_calls_of(seen, call)):
        stack = applied_stack(applied) if applied is call else _via(call)
        if stack is not None and kind_of(seen.index, seen.module, stack) == STACKED:
            yield from _sliced_by_haliax(seen, applied)
    if seen.called(call.func) in LAX:
        yield from _among_xs(seen, call)


def _via(call: ast.Call) -> ast.expr | None:
    """What may be a stack in `stack.fold_via(f)`, which is not called where it stands."""
    function = call.func
    return function.value if isinstance(function, ast.Attribute) and function.attr in VIAS else None


def _calls_of(seen: Seen, call: ast.Call) -> Iterator[ast.Call]:
    """The calls of the function that a name is given: `run = stack.fold_via(f)`, `run(x, mask)`."""
    above = parent_of(seen.module, call) if _via(call) is not None else None
    around = seen.function_around(call)
    if around is None or not isinstance(above, ast.Assign) or not isinstance(above.targets[0], ast.Name):
        return
    for name in names_read(around):
        use = parent_of(seen.module, name)
        if (
            name.id == above.targets[0].id
            and isinstance(use, ast.Call)
            and use.func is name
            and seen.meant(name) is call
        ):
            yield use


def _sliced_by_haliax(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    for given in (*call.args[1:], *(each.value for each in call.keywords)):
        if isinstance(given, ast.Name | ast.Call) and (_is_mask(seen, given) or _is_shared_array(seen, given)):
            text = seen.code(given)
            reason = f"`{text}` is sliced along its first axis, one part for each layer: a plain array is not shared"
            yield seen.remark(given, RULE, reason, _CLOSE, call)


def _among_xs(seen: Seen, call: ast.Call) -> Iterator[Remark]:
    """`jax.lax.scan(f, x, (layers, mask))` with a mask over tokens."""
    xs = argument(call, 2, "xs")
    meant = seen.meant(xs) if xs is not None else None
    if not isinstance(meant, ast.Tuple) or len(meant.elts) < 2:
        return
    body = body_of(seen, call)
    for given in meant.elts if body is not None and any(body.calls_of_layers()) else ():
        if _is_mask(seen, given):
            reason = f"`{seen.code(given)}` is sliced along its first axis, one part for each layer: it is among the xs"
            yield seen.remark(given, RULE, reason, "let the body of the scan close over it", call)


def _is_mask(seen: Seen, node: ast.expr) -> bool:
    """Whether it is made as a matrix over tokens: `jnp.tril(jnp.ones((n, n)))`."""
    meant = seen.meant(node)
    return isinstance(meant, ast.Call) and seen.called(meant.func) in _MASKS


def _is_shared_array(seen: Seen, given: ast.expr) -> bool:
    """A parameter that is declared to be a plain array, and by its name is not one for each layer."""
    return isinstance(given, ast.Name) and not _PER_LAYER.search(given.id) and is_array_parameter(seen, given)
