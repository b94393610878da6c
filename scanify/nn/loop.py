"""The loop itself: `lax.scan` with a remat policy, nested scans, and carries that are any pytree."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.checkpoint import ScanCheckpointPolicy
from scanify.nn.leaves import aval, aval_text, first_difference, is_array, is_number, same_value

Body = Callable[[Any, Any], tuple[Any, Any]]
Unroll = int | bool | None


def run_scan(
    body: Body,
    init: Any,
    xs: Any,
    length: int,
    *,
    policy: ScanCheckpointPolicy,
    unroll: Unroll = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """`lax.scan(body, init, xs, length)` under a remat policy.

    `init` is any pytree: its arrays and Python numbers are carried, everything else (functions, strings, static fields)
    must come back from `body` as it went in. `xs` holds arrays only, with the layers along axis 0.

    A weak-typed carry, such as the Python number 0.0, takes the type that the layers give it, as in a loop.

    Raises TypeError where the carry changes its structure, shape or dtype on the way through a layer.
    """
    carried, static = eqx.partition(init, _is_carried)
    carried = jax.tree.map(jnp.asarray, carried)

    def arrays_only(carry: Any, x: Any) -> tuple[Any, Any]:
        out, y = body(eqx.combine(carry, static), x)
        return _carried_part(out, eqx.combine(carry, static)), y

    while True:
        try:
            carried, ys = _under_policy(
                arrays_only, carried, xs, length, policy, 1 if unroll is None else unroll, reverse
            )
        except _StrongerTypes as stronger:
            carried = stronger.cast(carried)
        else:
            return eqx.combine(carried, static), ys


def _under_policy(
    body: Body, init: Any, xs: Any, length: int, policy: ScanCheckpointPolicy, unroll: int | bool, reverse: bool
) -> tuple[Any, Any]:
    size = _chunk_size(policy, init, xs, length)

    def whole(carry: Any, xs: Any) -> tuple[Any, Any]:
        if size >= length:
            return _scan(policy.checkpoint, body, carry, xs, length, unroll, reverse)
        return _nested(policy, body, carry, xs, length, size, unroll=unroll, reverse=reverse)

    if policy.save_carries is False:
        whole = jax.checkpoint(whole)
    return whole(init, xs)


def _scan(
    remat: Callable[..., Body], body: Body, init: Any, xs: Any, length: int, unroll: int | bool, reverse: bool
) -> tuple[Any, Any]:
    """A scan whose body is rematted: `remat(body, straight=...)` is told whether XLA will see straight-line code."""
    straight = length == 1 or unroll is True or unroll == 0 or unroll >= length
    carry, ys = jax.lax.scan(remat(body, straight=straight), init, xs, length=length, unroll=unroll, reverse=reverse)
    return carry, ys


# -- the carry ------------------------------------------------------------------------------------------------------


class _StrongerTypes(Exception):
    """A weak-typed carry came back strong: begin again with these dtypes, one a leaf, None for leaves that stay.

    `lax.scan` begins again only where the dtype itself changes. The body would then be traced with a weak type that, in
    a loop, only its first layer sees: float32 times bfloat16 would be bfloat16 in all layers.
    """

    def __init__(self, dtypes: list[Any]) -> None:
        super().__init__("a carry has a weak type")
        self.dtypes = dtypes

    def cast(self, carried: Any) -> Any:
        leaves, treedef = jax.tree.flatten(carried)
        cast = [
            leaf if dtype is None else jnp.asarray(leaf, dtype) for leaf, dtype in zip(leaves, self.dtypes, strict=True)
        ]
        return jax.tree.unflatten(treedef, cast)


def _is_carried(leaf: Any) -> bool:
    return is_array(leaf) or is_number(leaf)


def _same_carry_leaf(before: Any, after: Any) -> bool:
    if _is_carried(before) and _is_carried(after):
        return True
    return same_value(before, after)


def _carried_part(out: Any, carry: Any) -> Any:
    """The arrays of a new carry, once they are known to fit the old one's."""
    found = first_difference(carry, out, _same_carry_leaf)
    if found:
        path, before, after = found
        raise TypeError(_changed(path, _sketch(before), _sketch(after)))
    befores, treedef = jax.tree_util.tree_flatten_with_path(eqx.filter(carry, _is_carried))
    afters = [jnp.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(out, _is_carried))]
    dtypes: list[Any] = []
    for (path, before), after in zip(befores, afters, strict=True):
        old, new = aval(before), aval(after)
        stronger = old[2] and not new[2] and old[0] == new[0] and jnp.result_type(before, after) == new[1]
        if old != new and not stronger:
            raise TypeError(_changed(jax.tree_util.keystr(path), aval_text(before), aval_text(after)))
        dtypes.append(new[1] if stronger else None)
    if any(dtype is not None for dtype in dtypes):
        raise _StrongerTypes(dtypes)
    return jax.tree.unflatten(treedef, afters)


def _sketch(value: Any) -> str:
    if jax.tree_util.all_leaves([value]):
        return aval_text(value)
    return str(eqx.tree_pformat(value, short_arrays=True, width=60))


def _changed(path: str, before: str, after: str) -> str:
    place = f"at {path} " if path else ""
    return (
        f"expected a layer to give back a carry like the one it was given; {place}{before} went in, "
        f"{after} came out. A Python loop lets the carry change from layer to layer, a scan cannot. Where only the "
        "first layer changes it, apply that layer before the scan; or start with the carry that the layers give. "
        "(Casting it back in every layer would make the error go away and change the results.)"
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
    and cotangents. A last chunk that is shorter makes XLA copy the parameters apart and their cotangents together. The
    square root rule (Chen et al., arXiv 1604.06174) is this model without parameters.
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
    policy: ScanCheckpointPolicy,
    body: Body,
    init: Any,
    xs: Any,
    length: int,
    size: int,
    *,
    unroll: int | bool,
    reverse: bool,
) -> tuple[Any, Any]:
    """A rolled scan over chunks of `size` layers, each of which keeps only its first carry; the last may be shorter."""
    full, rest = divmod(length, size)

    def chunk(count: int) -> Body:
        return lambda carry, xs: _scan(policy.checkpoint, body, carry, xs, count, unroll, reverse)

    def remat(body: Body, straight: bool) -> Body:
        checkpointed: Body = jax.checkpoint(body, prevent_cse=policy.prevent_cse or straight)
        return checkpointed

    def chunks(carry: Any) -> tuple[Any, Any]:
        split = jax.tree.map(lambda x: x[: full * size].reshape(full, size, *x.shape[1:]), xs)
        carry, ys = _scan(remat, chunk(size), carry, split, full, 1, reverse)
        return carry, jax.tree.map(lambda y: y.reshape(full * size, *y.shape[2:]), ys)

    if not rest:
        return chunks(init)
    last = jax.tree.map(lambda x: x[full * size :], xs)
    alone = remat(chunk(rest), straight=True)
    if reverse:
        carry, last_ys = alone(init, last)
        carry, ys = chunks(carry)
    else:
        carry, ys = chunks(init)
        carry, last_ys = alone(carry, last)
    return carry, jax.tree.map(lambda a, b: jnp.concatenate([a, b]), ys, last_ys)
