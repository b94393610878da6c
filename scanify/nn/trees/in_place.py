"""Fill a stack group by group: no more memory is in use than for the stack and one group."""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.trees.is_eager import is_eager
from scanify.nn.trees.weak import weakly_typed

# The number of arrays written at once: XLA takes longer with each, and `jnp.stack` keeps intermediate results, joined
# by sixteen.
GROUP = 16


def on_one_device(arrays: Iterable[Any]) -> bool:
    """True for computed arrays in the usual memory of one device, outside of every transformation and mesh."""
    if not is_eager() or not jax.sharding.get_abstract_mesh().empty:
        return False
    devices = set()
    for array in arrays:
        concrete = isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer)
        if not concrete or not array.is_fully_addressable:
            return False
        sharding = array.sharding
        if not isinstance(sharding, jax.sharding.SingleDeviceSharding):
            return False
        device = next(iter(sharding.device_set))
        if sharding.memory_kind not in (None, device.default_memory().kind):
            return False
        devices.add(device)
    return len(devices) <= 1


def can_be_written(struct: Any) -> bool:
    """True if there is an empty stack for arrays of this dtype, unlike for keys."""
    return isinstance(struct.dtype, np.dtype)


def empty(count: int, struct: Any) -> Any:
    """Return a stack for `count` arrays of this shape and dtype."""
    whole = _zeros((count, *struct.shape), struct.dtype)
    return weakly_typed(whole) if struct.weak_type else whole


def written(whole: Any, at: Any, entry: Any) -> Any:
    """Return the stack with the entry at this position replaced."""
    new = jax.lax.dynamic_update_index_in_dim(whole, entry, at, 0)
    return weakly_typed(new) if whole.weak_type else new


def stacked_in_place(column: Sequence[Any]) -> Any:
    """Stack arrays of one shape and dtype, on one device and neither keys nor of a weak type, along a new axis 0."""
    count = len(column)
    if count <= GROUP:
        return _stacked(list(column))
    whole = empty(count, jax.typeof(column[0]))
    for start in (*range(0, count - GROUP, GROUP), count - GROUP):  # groups of one size share one program
        whole = _write(whole, np.int32(start), list(column[start : start + GROUP]))
    return whole


def _with_group(whole: Any, at: Any, group: Sequence[Any]) -> Any:
    for index, entry in enumerate(group):
        whole = written(whole, at + index, entry)
    return whole


_stacked = jax.jit(jnp.stack)
_write = jax.jit(_with_group, donate_argnums=0)
_zeros = jax.jit(jnp.zeros, static_argnums=(0, 1))  # without jit it makes them and copies them
