"""Stack arrays of one shape and dtype along a leading axis, keeping their kind and sharding."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.trees.in_place import can_be_written, on_one_device, stacked_in_place
from scanify.nn.trees.leaves import has_aval, is_numpy


def stack_leaves(column: Sequence[Any]) -> Any:
    """Stack arrays of one shape and dtype along a new axis 0, in their kind: numpy, jax, or shapes only."""
    first = column[0]
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in column):
        weak = bool(getattr(first, "weak_type", False))
        return jax.ShapeDtypeStruct(
            (len(column), *first.shape), first.dtype, weak_type=weak, sharding=_sharding_of_stack(column)
        )
    if all(is_numpy(leaf) for leaf in column):
        return np.stack(column)
    if on_one_device(column) and all(can_be_written(leaf) and not leaf.weak_type for leaf in column):
        return stacked_in_place(column)
    stacked = jnp.stack(column)
    sharding = _sharding_of_stack(column)
    return stacked if sharding is None else jax.device_put(stacked, sharding)


def stack_columns(columns: list[Any]) -> list[Any]:
    """Stack each column of arrays; of other columns, take the first entry.

    A column is removed from the list before the next is stacked: arrays without other references are freed, and no more
    memory is in use than for all arrays and a copy of the largest column.
    """
    found = []
    for at in range(len(columns)):
        column, columns[at] = columns[at], None
        found.append(_there(stack_leaves(column)) if has_aval(column[0]) else column[0])
    return found


def _there(array: Any) -> Any:
    """Wait for the array to be computed: until then its inputs are in use."""
    concrete = isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer)
    return jax.block_until_ready(array) if concrete and array.nbytes > _LARGE else array


_LARGE = 1 << 20  # bytes


def _sharding_of_stack(column: Sequence[Any]) -> Any:
    """Return the layers' own sharding behind an axis that is not sharded; None if they have none, or different ones."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in column):
        return None
    shardings = [getattr(leaf, "sharding", None) for leaf in column]
    first = shardings[0]
    if not isinstance(first, jax.sharding.NamedSharding) or any(one != first for one in shardings):
        return None
    spec = jax.sharding.PartitionSpec(None, *first.spec)
    return jax.sharding.NamedSharding(first.mesh, spec, memory_kind=first.memory_kind)
