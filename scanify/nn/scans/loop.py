"""The loop itself: `lax.scan` with a remat policy, nested scans, and carries that are any pytree."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.checks.looked_at import looked_at
from scanify.nn.scans.carry import (
    CarryChanges,
    NumbersChange,
    Step,
    VariesOver,
    checked_step,
    numbers,
    settled,
    split,
    varied,
)
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.nn.scans.held_numbers import BRANCHED
from scanify.nn.scans.names import warn_of_names_not_set
from scanify.nn.trees.structs import row_struct

Body = Callable[[Any, Any], tuple[Any, Any]]
Unroll = int | bool | None


def run_scan(
    body: Step,
    init: Any,
    xs: Any,
    length: int,
    *,
    policy: ScanCheckpointPolicy,
    unroll: Unroll = None,
    reverse: bool = False,
    look: bool = True,
) -> tuple[Any, Any]:
    """`lax.scan(body, init, xs, length)` under a remat policy.

    `init` is any pytree: its arrays and Python numbers are carried, everything else (functions, strings, static fields)
    must come back from `body` unchanged. `xs` holds arrays only, with the layers along axis 0. The arrays and Python
    numbers of each `y` are stacked; functions and strings are kept.

    A weak-typed carry, such as the Python number 0.0, takes the type that the layers give it, as in a loop. A Python
    number that they return unchanged stays a Python number: a layer may branch on it. With `look` each step is a layer,
    which `scanify.nn.check_layers` checks.

    Raises TypeError if a layer changes the structure, shape or dtype of the carry, or if `body` does not return a pair.
    """
    scan, held, settled_types = object(), numbers(init), False
    carry, static = split(init, held)
    while True:
        given = carry
        step = checked_step(body, static, scan, settled=settled_types)
        looking, over = looked_at(step, xs, length, reverse) if look else (step, xs)
        try:
            carry, ys = _under_policy(looking, carry, over, length, policy, 1 if unroll is None else unroll, reverse)
            break
        except CarryChanges as changes:
            if changes.scan is not scan:
                raise
            if isinstance(changes, NumbersChange):
                held -= changes.leaves
                carry, static = split(init, held)
            elif isinstance(changes, VariesOver):
                carry = varied(carry, changes.axes)
            else:
                carry, settled_types = settled(body, carry, static, first_of(xs)), True
        except jax.errors.ConcretizationTypeError as error:
            if held != numbers(init):
                error.add_note(BRANCHED)
            raise
    if policy.names:
        warn_of_names_not_set(policy, step, given, first_of(xs))
    return eqx.combine(carry, static), ys


def first_of(xs: Any) -> Any:
    """Return the `xs` of one layer, as `jax.ShapeDtypeStruct`s."""
    return jax.tree.map(row_struct, xs)


def _under_policy(
    step: Callable[[Any, Any], tuple[Any, Any, Any]],
    init: Any,
    xs: Any,
    length: int,
    policy: ScanCheckpointPolicy,
    unroll: int | bool,
    reverse: bool,
) -> tuple[Any, Any]:
    others: list[Any] = []  # leaves of each y that are not arrays: the same for all layers, which are traced once

    def body(carry: Any, x: Any) -> tuple[Any, Any]:
        carry, y, other = step(carry, x)
        others[:] = [other]
        return carry, y

    size = _chunk_size(policy, init, xs, length)

    def whole(carry: Any, xs: Any) -> tuple[Any, Any]:
        if size is length or size >= length:
            return _scan(policy.checkpoint, body, carry, xs, length, unroll, reverse)
        return _nested(policy, body, carry, xs, length, size, unroll=unroll, reverse=reverse)

    if policy.save_carries is False:
        whole = jax.checkpoint(whole)
    carry, ys = whole(init, xs)
    return carry, eqx.combine(ys, others[0])


def _scan(
    remat: Callable[..., Body], body: Body, init: Any, xs: Any, length: int, unroll: int | bool, reverse: bool
) -> tuple[Any, Any]:
    """Run a scan with the body `remat(body, straight=...)`; `straight`: XLA will see straight-line code."""
    straight = is_straight(length, unroll)
    carry, ys = jax.lax.scan(remat(body, straight=straight), init, xs, length=length, unroll=unroll, reverse=reverse)
    return carry, ys


def is_straight(length: int, unroll: Unroll) -> bool:
    """True if XLA sees a scan as straight-line code: with a single step, or fully unrolled."""
    steps = 1 if unroll is None else unroll
    return steps is True or steps == 0 or (isinstance(length, int) and (length == 1 or steps >= length))


# -- nested ---------------------------------------------------------------------------------------------------------


def _chunk_size(policy: ScanCheckpointPolicy, carry: Any, xs: Any, length: int) -> int:
    """Return the number of layers in a chunk; `length` if one scan is best."""
    if policy.nested is False or not isinstance(length, int):
        return length
    if policy.nested is not True:
        return math.ceil(length / min(policy.nested, length))
    if not all(isinstance(size, int) for leaf in jax.tree.leaves((carry, xs)) for size in leaf.shape):
        return math.ceil(math.sqrt(length))  # symbolic sizes, as under `jax.export`
    return best_chunk_size(_bytes(carry), _bytes(xs), length)


def best_chunk_size(carry_bytes: int, xs_bytes: int, length: int) -> int:
    """Return the chunk size that needs the least memory, by this model; `length` if a single scan is no worse.

    A single scan keeps `length` carries, and in its backward pass one layer's parameters and their cotangents. Nested
    in chunks of `s`, the outer scan keeps `length / s` carries, the current chunk `s` more, with `s` layers' parameters
    and cotangents. A shorter last chunk makes XLA copy the parameters of the others (on a CPU, 61 layers of 0.13 MB
    needed 8 MB more than the model gives without this term). The square root rule (Chen et al., arXiv 1604.06174) is
    this model without parameters.
    """
    layer_bytes = xs_bytes / length

    def cost(size: int) -> float:
        full, rest = divmod(length, size)
        copies = xs_bytes if rest else 0
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
    """Scan over chunks of `size` layers, each of which keeps only its first carry; the last chunk may be shorter."""
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
