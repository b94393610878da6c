"""The axis of each array of a stack along which the layers lie.

A stack records the shapes of its arrays when it is built, with the layers along axis 0. `jax.vmap` of its constructor,
`jax.lax.map` or an outer stack add axes in front, so the layer axis of an array is the number of added axes.
`out_axes=1` adds them elsewhere. The record shows that unless an added axis is as long as the stack: then it must be
known that added axes are in front (`scanify.nn.members_first`).
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.trees.leaves import aval_text, has_aval, is_numpy


@dataclass(frozen=True)
class Shapes:
    """The record of a stack: the key path of each leaf, with the shape of its array without added axes, or None for any
    other leaf. `members_first`: axes are added in front of these, even if one is as long as the stack."""

    arrays: tuple[tuple[str, tuple[int, ...] | None], ...] = ()
    members_first: bool = False

    def marked(self) -> "Shapes":
        return dataclasses.replace(self, members_first=True)


_MISSING: Any = object()


def shape_of(leaf: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, None for any other leaf."""
    return tuple(leaf.shape) if has_aval(leaf) else None


def shapes_of(
    tree: Any,
    axes: Iterable[int | None] | None = None,
    is_leaf: Any = None,
    shape: Callable[[Any], tuple[int, ...] | None] = shape_of,
    *,
    like: Shapes = Shapes(),
) -> Shapes:
    """Return the record of a stack with the layers along these axes, or along axis 0; marked if `like` is."""
    found = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_leaf)[0]
    axes = [0] * len(found) if axes is None else list(axes)
    shapes = [None if axis is None else shape(leaf) for (_, leaf), axis in zip(found, axes, strict=True)]
    arrays = tuple(
        (jax.tree_util.keystr(path), size[axis:] if size else None)
        for (path, _), size, axis in zip(found, shapes, axes, strict=True)
    )
    return Shapes(arrays, like.members_first)


def layer_axes(
    tree: Any,
    shapes: Shapes,
    is_leaf: Any = None,
    shape: Callable[[Any], tuple[int, ...] | None] = shape_of,
    *,
    known: bool = False,
) -> list[int | None]:
    """Return the axis of the layers for each leaf, None for a leaf without one, such as a number that layers share.

    An array of another shape than in the record, as after `equinox.tree_at`, has the same axis as arrays of the
    recorded shape. If there are none, the axis is 0 if no axis was added, or it is an error if the axis must be
    `known`. It is also an error if a single layer may lie along one of two axes.

    Raises:
        ValueError: the axis cannot be told from the record.
    """
    found = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_leaf)[0]
    record = dict(shapes.arrays)
    now = [(path, shape(leaf)) for path, leaf in found]
    exact = [_exact(path, size, record) for path, size in now]
    usual = {axis for axis in exact if axis is not None and axis is not _MISSING}
    only = usual.copy().pop() if len(usual) == 1 else None
    axes = []
    for (path, size), axis in zip(now, exact, strict=True):
        if axis is _MISSING and size is not None:
            built = record.get(jax.tree_util.keystr(path))
            axis = only
            if not known and not usual and (built is None or len(size) == len(built)):
                axis = 0
            if axis is None or not 0 <= axis < len(size):
                raise ValueError(_unknown(path, size, built))
        # Two axes of size one hold the same entries, but perhaps in other shapes.
        if axis and size and size[axis] in size[:axis] and (known or size[axis] > 1) and not shapes.members_first:
            raise ValueError(_open(path, size, axis))
        axes.append(axis)
    return axes


def _exact(path: tuple[Any, ...], size: tuple[int, ...] | None, record: dict[str, Any]) -> Any:
    """Return the axis of an array that has its recorded shape behind added axes; None for a leaf without a layer axis,
    `_MISSING` for an array of another shape."""
    if size is None or (not size and not record.get(jax.tree_util.keystr(path))):
        return None
    for end in range(len(path), -1, -1):  # an optimiser may keep a pair in place of an array
        built = record.get(jax.tree_util.keystr(path[:end]), _MISSING)
        if built is None:
            return None
        if built is not _MISSING:
            added = len(size) - len(built)
            return added if added >= 0 and size[added:] == built else _MISSING
    return _MISSING


def _unknown(path: tuple[Any, ...], size: Sequence[int], built: Sequence[int] | None) -> str:
    was = "was not there when the stack was built" if built is None else f"was built as {list(built)}"
    return (
        "expected arrays of a stack to have the shapes in which they were built, with the layers along axis 0, or more "
        f"axes in front; {jax.tree_util.keystr(path)} has shape {list(size)} and {was}, so its axis of layers is not "
        "known. Build an ensemble without `out_axes`. Build a stack whose arrays were replaced anew, "
        "`ArrayStacked(stack.stacked, stack.num_layers)`. What an optimiser keeps for a whole stack has no form for "
        "its layers: wrap it in `scanify.optim.per_layer`"
    )


def _open(path: tuple[Any, ...], size: Sequence[int], axis: int) -> str:
    return (
        f"the axis of layers is not known: {jax.tree_util.keystr(path)} has shape {list(size)} and was built as "
        f"{list(size[axis:])}, so an added axis is as long as the stack. If all axes were added in front, as by "
        "`equinox.filter_vmap` without `out_axes`, mark the model, `scanify.nn.members_first(model)`"
    )


def layers_first(tree: Any, shapes: Shapes, count: int | None = None, is_leaf: Any = None) -> Any:
    """Move the layers to axis 0 of each array; an array that all layers share is repeated for each.

    Raises:
        ValueError: the axis of an array cannot be told from the record, or does not have `count` layers, if `count` is
            given.
    """
    axes = layer_axes(tree, shapes, is_leaf)
    found, treedef = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_leaf)
    return treedef.unflatten([_first(path, leaf, at, count) for (path, leaf), at in zip(found, axes, strict=True)])


def _first(path: Any, leaf: Any, axis: int | None, count: int | None) -> Any:
    if not has_aval(leaf):
        return leaf
    # An array without axes is an integer that all layers share: `jax.jit` makes arrays of a module's numbers.
    shared = axis is None and (leaf.ndim > 0 or not jnp.issubdtype(leaf.dtype, jnp.inexact))
    if count is not None and not shared and (axis is None or leaf.shape[axis] != count):
        raise ValueError(
            f"expected every array of the stack to have its {count} layers along axis {axis or 0}; "
            f"{jax.tree_util.keystr(path)} is {aval_text(leaf)}. Replace leaves of a stack by stacked ones "
            "(`layer.weight` of shape (4, 8) is stored as (num_layers, 4, 8)), or a whole layer by "
            "`stack.with_layer(index, layer)`"
        )
    if axis is not None:
        return moved(leaf, axis, 0)
    if count is None or not leaf.ndim:
        return leaf
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct((count, *leaf.shape), leaf.dtype, weak_type=leaf.weak_type)
    return (np if is_numpy(leaf) else jnp).broadcast_to(leaf, (count, *leaf.shape))


def moved(array: Any, axis: int, to: int) -> Any:
    """Move one axis of the array, keeping its kind and sharding."""
    if axis == to:
        return array
    if isinstance(array, jax.ShapeDtypeStruct):
        order = list(range(len(array.shape)))
        order.insert(to, order.pop(axis))
        return jax.ShapeDtypeStruct(
            [array.shape[at] for at in order], array.dtype, weak_type=array.weak_type, sharding=_moved(array, order)
        )
    return np.moveaxis(array, axis, to) if is_numpy(array) else jnp.moveaxis(array, axis, to)


def _moved(array: Any, order: Sequence[int]) -> Any:
    sharding = array.sharding
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return sharding
    parts = [*sharding.spec, *[None] * (len(order) - len(sharding.spec))]
    spec = jax.sharding.PartitionSpec(*(parts[at] for at in order))
    return jax.sharding.NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)
