"""Entries along the first axis of an array, extracted all at once if there are many."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from scanify.nn.trees.structs import row_struct


def rows(array: Any, positions: Sequence[int]) -> list[Any]:
    """Return the entries at these positions.

    Under tracing, several entries are taken by one split, whose transpose is one concatenation; slices would each add
    up a padded copy of the whole array.
    """
    if isinstance(array, jax.ShapeDtypeStruct):
        return [row_struct(array)] * len(positions)
    if isinstance(array, jax.Array) and not isinstance(array, jax.core.Tracer):
        # One program for all positions; a slice is compiled for each.
        return [jax.lax.dynamic_index_in_dim(array, position, keepdims=False) for position in positions]
    if len(positions) < 2 or not isinstance(array, jax.core.Tracer):
        return [array[position] for position in positions]
    found = apart(array, array.shape[0])
    return [found[position] for position in positions]


def apart(array: Any, count: int) -> list[Any]:
    """Return all entries along a leading axis, by one split.

    Vectors are separated from the operations that read them: XLA would cut each out of the whole in every loop that it
    makes of such operations, and compile 25 % longer. It cuts out matrices once.
    """
    if not isinstance(array.dtype, np.dtype):  # keys
        return [array[at] for at in range(count)]
    found = [jax.lax.squeeze(piece, (0,)) for piece in jax.lax.split(array, [1] * count)]
    return list(_by_themselves(found)) if array.ndim < 3 else found


def _computed(entries: list[Any]) -> list[Any]:
    """Compute the entries before anything reads them."""
    return list(jax.lax.optimization_barrier(entries))


def _derivative(primals: Any, tangents: Any) -> Any:
    """Join derivatives directly: computing each separately first would add a loop for each."""
    return _by_themselves(*primals), tangents[0]


_by_themselves: Any = jax.custom_jvp(_computed)
_by_themselves.defjvp(_derivative)


def refuse_wrapped(leaf: Any) -> None:
    """Raise ValueError for the placeholders of `equinox.tree_at`: layers are not nodes of a stack's tree."""
    if type(leaf).__name__ == "_LeafWrapper" and type(leaf).__module__.startswith("equinox"):
        raise ValueError(
            "expected a place in the tree of a stack, got one of its layers, whose arrays are kept with those of the "
            "others. Replace a layer by a stack with another: "
            "equinox.tree_at(lambda model: model.layers, model, model.layers.with_layer(index, layer)); "
            "`model.layers` stands for the stack"
        )
