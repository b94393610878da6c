"""Arrays of one shape and dtype as one array with a leading axis, in the form and the sharding that they have."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def stack_leaves(column: Sequence[Any]) -> Any:
    """Arrays of one shape and dtype stacked along a new axis 0, in the form they have: numpy, jax, or shapes only."""
    first = column[0]
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in column):
        weak = bool(getattr(first, "weak_type", False))
        return jax.ShapeDtypeStruct(
            (len(column), *first.shape), first.dtype, weak_type=weak, sharding=_sharding_of_stack(column)
        )
    if all(isinstance(leaf, np.ndarray | np.generic) for leaf in column):
        return np.stack(column)
    stacked = jnp.stack(column)
    sharding = _sharding_of_stack(column)
    return stacked if sharding is None else jax.device_put(stacked, sharding)


def _sharding_of_stack(column: Sequence[Any]) -> Any:
    """The layers' own sharding behind an axis that is not sharded; None where they have none, or different ones."""
    if any(isinstance(leaf, jax.core.Tracer) for leaf in column):
        return None
    shardings = [getattr(leaf, "sharding", None) for leaf in column]
    first = shardings[0]
    if not isinstance(first, jax.sharding.NamedSharding) or any(one != first for one in shardings):
        return None
    spec = jax.sharding.PartitionSpec(None, *first.spec)
    return jax.sharding.NamedSharding(first.mesh, spec, memory_kind=first.memory_kind)
