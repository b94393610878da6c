"""Many equal layers as one layer whose array leaves have a leading axis, and back."""

from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.difference import first_difference
from scanify.nn.leaves import aval_text, has_aval, is_array, path_text

M = TypeVar("M", bound=eqx.Module)


def stack_layers(layers: Sequence[M]) -> M:
    """One module with every array leaf stacked along a new leading axis, every other leaf and static field shared.

    An array that is sharded over a mesh keeps its sharding; the new axis is not sharded.

    Raises:
        TypeError: an element is not an Equinox module.
        ValueError: there is no layer, a layer or an array stands in the list more than once, or layers differ in
            anything but the values of their arrays. The message names the key path, the layers and both values.
    """
    if not layers:
        raise ValueError(
            "expected at least one layer to stack, got an empty list; leave the stack out where there is none"
        )
    for index, layer in enumerate(layers):
        if not isinstance(layer, eqx.Module):
            name = f"{type(layer).__module__}.{type(layer).__qualname__}"
            raise TypeError(f"expected layers that are equinox.Modules; layer {index} is of type {name}")
    _refuse_sharing(layers)
    for index, layer in enumerate(layers):
        difference = first_difference(layers[0], layer)
        if difference is not None:
            raise ValueError(
                f"expected layers that differ only in the values of their arrays; layers 0 and {index} differ at "
                f"{path_text(difference.path)}: {difference}. A scan runs one body for all layers, so this one would "
                "get the value of layer 0: make it an array (or an argument of the call, with in_axes=0), or keep the "
                "Python loop"
            )
    columns = zip(*(jax.tree.leaves(layer) for layer in layers), strict=True)
    stacked = [stack_leaves(column) if has_aval(column[0]) else column[0] for column in columns]
    result: M = jax.tree.unflatten(jax.tree.structure(layers[0]), stacked)
    return result


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


def _refuse_sharing(layers: Sequence[Any]) -> None:
    """Stacking copies: what is one object now would be trained as many (equinox FAQ, "sharing layers")."""
    seen: dict[int, int] = {}
    arrays: dict[int, tuple[int, Any]] = {}
    for index, layer in enumerate(layers):
        if id(layer) in seen:
            raise ValueError(
                f"layers {seen[id(layer)]} and {index} are the same object; a stack would give each its own copy and "
                "train them apart. Keep the Python loop for shared layers, or build each layer anew"
            )
        seen[id(layer)] = index
        for path, leaf in jax.tree_util.tree_flatten_with_path(layer)[0]:
            if not is_array(leaf) or not jnp.issubdtype(leaf.dtype, jnp.inexact):
                continue  # what has no gradient is not untied by a copy
            other = arrays.setdefault(id(leaf), (index, path))
            if other[0] != index:
                raise ValueError(
                    f"layers {other[0]} and {index} hold the same array object, at {path_text(other[1])} and "
                    f"{path_text(path)}; a stack would give each its own copy and train them apart. Pass it to the "
                    "call (shared, in_axes=None) instead of holding it in every layer, or copy it where the layers are "
                    "meant to have their own"
                )


def is_stacked(leaf: Any) -> bool:
    """Whether a leaf of a stack has the layers along axis 0.

    An array without axes is a number that all layers share: `jax.jit` makes arrays of a module's Python numbers.
    """
    return has_aval(leaf) and leaf.ndim > 0


def check_leading_axis(stacked: Any, num_layers: int) -> None:
    """Raises ValueError where an array leaf does not have the layers along its first axis, as after tree surgery."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(stacked)[0]:
        if not has_aval(leaf):
            continue
        shared_key = leaf.ndim == 0 and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        if shared_key or (leaf.ndim > 0 and leaf.shape[0] != num_layers):
            raise ValueError(
                f"expected every array of the stack to have its {num_layers} layers along axis 0; "
                f"{jax.tree_util.keystr(path)} is {aval_text(leaf)}. Replace leaves of a stack by stacked ones "
                "(`layer.weight` of shape (4, 8) is stored as (num_layers, 4, 8))"
            )


def without_layers(leaf: Any) -> Any:
    """Shape and dtype of a leaf in one layer of the stack."""
    if not is_stacked(leaf):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype, weak_type=bool(getattr(leaf, "weak_type", False)))


def take_layer(stacked: M, index: Any) -> M:
    """Layer `index` of a stack; a traced index is clamped to the ends, as jax does."""

    def take(leaf: Any) -> Any:
        if not is_stacked(leaf):
            return leaf
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return without_layers(leaf)
        if isinstance(index, int):
            return leaf[index]
        return jax.lax.dynamic_index_in_dim(jnp.asarray(leaf), index, axis=0, keepdims=False)

    layer: M = jax.tree.map(take, stacked)
    return layer
