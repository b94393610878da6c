"""The loop itself: `lax.scan` with a remat policy, nested scans, and carries that are any pytree."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.checkpoint import ScanCheckpointPolicy
from scanify.nn.leaves import aval_text, is_array, path_text, same_leaf

Body = Callable[[Any, Any], tuple[Any, Any]]


def run_scan(
    body: Body, init: Any, xs: Any, length: int, *, policy: ScanCheckpointPolicy, unroll: int = 1, reverse: bool = False
) -> tuple[Any, Any]:
    """`lax.scan(body, init, xs, length)` under a remat policy.

    `init` is any pytree: its arrays and Python numbers are carried, everything else (functions, strings, static fields)
    must come back from `body` as it went in. `xs` holds arrays only, with the layers along axis 0.

    Raises TypeError where the carry changes its structure, shape or dtype on the way through a layer.
    """
    carried, static = eqx.partition(init, _is_carried)
    carried = jax.tree.map(jnp.asarray, carried)

    def arrays_only(carry: Any, x: Any) -> tuple[Any, Any]:
        out, y = body(eqx.combine(carry, static), x)
        return _carried_part(out, carry, static), y

    inner = policy.checkpoint(arrays_only)
    size = _chunk_size(policy, carried, xs, length)

    def whole(carry: Any, xs: Any) -> tuple[Any, Any]:
        if size >= length:
            return _scan(inner, carry, xs, length, unroll, reverse)
        return _nested(inner, carry, xs, length, size, unroll=unroll, reverse=reverse, prevent_cse=policy.prevent_cse)

    if policy.save_carries is False:
        whole = jax.checkpoint(whole)
    carried, ys = whole(carried, xs)
    return eqx.combine(carried, static), ys


def _is_carried(leaf: Any) -> bool:
    return is_array(leaf) or isinstance(leaf, bool | int | float | complex)


def _scan(body: Body, init: Any, xs: Any, length: int, unroll: int, reverse: bool) -> tuple[Any, Any]:
    carry, ys = jax.lax.scan(body, init, xs, length=length, unroll=unroll, reverse=reverse)
    return carry, ys


def _carried_part(out: Any, carry: Any, static: Any) -> Any:
    """The arrays of a new carry, once they are known to fit the old ones."""
    arrays, rest = eqx.partition(out, _is_carried)
    expected = eqx.combine(carry, static)
    if jax.tree.structure(out) != jax.tree.structure(expected):
        raise TypeError(_changed("structure", jax.tree.structure(expected), jax.tree.structure(out), ""))
    fixed = jax.tree_util.tree_flatten_with_path(static)[0]
    for (path, before), after in zip(fixed, jax.tree.leaves(rest), strict=False):
        if not same_leaf(before, after):
            raise TypeError(_changed("a value that is not an array", before, after, jax.tree_util.keystr(path)))
    if jax.tree.structure(arrays) != jax.tree.structure(carry):
        raise TypeError(_changed("arrays", jax.tree.structure(carry), jax.tree.structure(arrays), ""))
    for (path, before), after in zip(
        jax.tree_util.tree_flatten_with_path(carry)[0], jax.tree.leaves(arrays), strict=True
    ):
        after = jnp.asarray(after)
        # A weak-typed carry may become strong once: lax.scan then starts again from the stronger type.
        same_dtype = before.dtype == after.dtype or before.weak_type
        if before.shape != after.shape or not same_dtype:
            raise TypeError(_changed("shape or dtype", aval_text(before), aval_text(after), jax.tree_util.keystr(path)))
    return jax.tree.map(jnp.asarray, arrays)


def _changed(what: str, before: Any, after: Any, path: str) -> str:
    place = f" at {path_text(path)}" if path else ""
    return (
        f"expected a layer to give back a carry like the one it was given; its {what} changed{place}: {before} went "
        f"in, {after} came out. A Python loop lets the carry change from layer to layer, a scan cannot. Start with a "
        "carry of the type that the layers give (for a promoted dtype, cast it once before the first layer: casting it "
        "back in every layer would change the results)"
    )


# -- nested ---------------------------------------------------------------------------------------------------------


def _chunk_size(policy: ScanCheckpointPolicy, carry: Any, xs: Any, length: int) -> int:
    """How many layers make a chunk; `length` where one scan is best."""
    if policy.nested is False:
        return length
    if policy.nested is not True:
        return math.ceil(length / min(policy.nested, length))
    return best_chunk_size(_bytes(carry), _bytes(xs), length)


def best_chunk_size(carry_bytes: int, xs_bytes: int, length: int) -> int:
    """The chunk size that needs the least memory, by this model; `length` where a single scan is no worse.

    A single scan keeps `length` carries, and in its backward pass one layer's parameters and their cotangents. Nested
    in chunks of `s`, the outer scan keeps `length / s` carries, the chunk in hand `s` more, with `s` layers' parameters
    and cotangents. A last chunk that is shorter makes XLA copy the parameters apart and their cotangents together.
    The square root rule (Chen et al., arXiv 1604.06174) is this model without parameters.
    """
    layer_bytes = xs_bytes / length

    def cost(size: int) -> float:
        full, rest = divmod(length, size)
        copies = 2 * xs_bytes if rest else 0
        return (full + bool(rest) + size) * carry_bytes + 2 * size * layer_bytes + copies

    simple = length * carry_bytes + 2 * layer_bytes
    size = min(range(1, length + 1), key=cost)
    return size if cost(size) < simple else length


def _bytes(tree: Any) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _nested(
    body: Body, init: Any, xs: Any, length: int, size: int, *, unroll: int, reverse: bool, prevent_cse: bool
) -> tuple[Any, Any]:
    """A rolled scan over chunks of `size` layers, each of which keeps only its first carry; the last may be shorter."""
    full, rest = divmod(length, size)

    def chunk(count: int) -> Body:
        def run(carry: Any, xs: Any) -> tuple[Any, Any]:
            return _scan(body, carry, xs, count, unroll, reverse)

        checkpointed: Body = jax.checkpoint(run, prevent_cse=prevent_cse)
        return checkpointed

    def chunks(carry: Any) -> tuple[Any, Any]:
        split = jax.tree.map(lambda x: x[: full * size].reshape(full, size, *x.shape[1:]), xs)
        carry, ys = _scan(chunk(size), carry, split, full, 1, reverse)
        return carry, jax.tree.map(lambda y: y.reshape(full * size, *y.shape[2:]), ys)

    if not rest:
        return chunks(init)
    last = jax.tree.map(lambda x: x[full * size :], xs)
    # The shorter chunk stands alone, outside of any scan: there XLA could undo its remat (jax#13999).
    alone = jax.checkpoint(lambda carry, xs: _scan(body, carry, xs, rest, unroll, reverse), prevent_cse=True)
    if reverse:
        carry, last_ys = alone(init, last)
        carry, ys = chunks(carry)
    else:
        carry, ys = chunks(init)
        carry, last_ys = alone(carry, last)
    return carry, jax.tree.map(lambda a, b: jnp.concatenate([a, b]), ys, last_ys)
