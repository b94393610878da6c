"""Stack equal layers into one layer whose array leaves have a leading axis, and take layers out again."""

from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.has_layers import HasLayers, level_above
from scanify.nn.trees.leaves import has_aval, is_array, is_numpy, path_text
from scanify.nn.trees.own_numbers import OwnNumbers, is_trained, own
from scanify.nn.trees.rows import refuse_wrapped, rows
from scanify.nn.trees.stack_leaves import stack_columns

M = TypeVar("M", bound=eqx.Module)


def stack_layers(layers: list[M]) -> M:
    """Stack every array leaf along a new leading axis; other leaves and static fields are shared. The list of at least
    one layer is emptied, so that layers without other references are freed once they are stacked.

    An array that is sharded over a mesh keeps its sharding; the new axis is not sharded.

    Raises:
        TypeError: an element is not an Equinox module.
        ValueError: a layer or an array occurs more than once in the list, or layers differ in anything but the values
            of their arrays. The message names the key path, the layers and both values.
    """
    for index, layer in enumerate(layers):
        if not isinstance(layer, eqx.Module):
            name = f"{type(layer).__module__}.{type(layer).__qualname__}"
            raise TypeError(
                f"expected layers that are equinox.Modules; layer {index} is of type {name}. BlockSeq takes functions, "
                "and tuples, lists and dicts of layers, too"
            )
    _refuse_sharing(layers)
    columns = list(zip(*(jax.tree.leaves(layer) for layer in differ_in_arrays(layers)), strict=True))
    _refuse_mixed(layers[0], columns)
    treedef = jax.tree.structure(layers[0])
    layers.clear()
    result: M = jax.tree.unflatten(treedef, stack_columns(columns))
    return result


def differ_in_arrays(layers: Sequence[M]) -> Sequence[M]:
    """Return the layers. Raises ValueError if they differ in anything but the values of their arrays."""
    for index, layer in enumerate(layers):
        difference = first_difference(layers[0], layer)
        if difference is not None:
            raise ValueError(
                f"expected layers that differ only in the values of their arrays; layers 0 and {index} differ at "
                f"{path_text(difference.path)}: {difference}. A scan runs one body for all layers, so this one would "
                "get the value of layer 0: make it an array (or an argument of the call, with in_axes=0), or hold the "
                "layers in a BlockSeq, which scans over those that are equal and takes all others as they are"
            )
    return layers


def _refuse_sharing(layers: Sequence[Any]) -> None:
    """Refuse shared objects: stacking copies them, so they would be trained apart (equinox FAQ, "sharing layers")."""
    seen: dict[int, int] = {}
    arrays: dict[int, tuple[int, Any]] = {}
    for index, layer in enumerate(layers):
        if id(layer) in seen:
            raise ValueError(
                f"layers {seen[id(layer)]} and {index} are the same object; a stack gives each its own copy and trains "
                "them apart, as a list does. Build each layer anew, or apply one layer in a loop"
            )
        seen[id(layer)] = index
        for path, leaf in jax.tree_util.tree_flatten_with_path(layer)[0]:
            if not is_array(leaf) or not jnp.issubdtype(leaf.dtype, jnp.inexact):
                continue  # a copy does not untie values without a gradient
            other = arrays.setdefault(id(leaf), (index, path))
            if other[0] != index:
                raise ValueError(
                    f"layers {other[0]} and {index} hold the same array object, at {path_text(other[1])} and "
                    f"{path_text(path)}; a stack gives each its own copy and trains them apart, as a list does. Pass "
                    "it to the call (in_axes=None), or copy it where the layers are meant to have their own"
                )


def _refuse_mixed(first: Any, columns: Sequence[Sequence[Any]]) -> None:
    """Refuse columns of numpy and jax arrays: a stack has one array for all layers, and `jax.Array` filters differ."""
    for (path, _), column in zip(jax.tree_util.tree_flatten_with_path(first)[0], columns, strict=True):
        kinds = [is_numpy(leaf) for leaf in column]
        if any(kinds) and not all(kinds):
            numpy, other = kinds.index(True), kinds.index(False)
            raise ValueError(
                f"expected layers that differ only in the values of their arrays; {path_text(path)} is an array of "
                f"numpy in layer {numpy} and one of jax in layer {other}. Filters for `jax.Array` tell them apart, and "
                "a stack has one array for all: convert with `jnp.asarray` or `np.asarray`, or hold the layers in a "
                "BlockSeq, which keeps each kind by itself"
            )


def is_stacked(leaf: Any) -> bool:
    """True if a leaf of a stack has the layers along axis 0.

    An array without axes is an integer that all layers share: `jax.jit` makes arrays of a module's Python numbers.
    """
    return has_aval(leaf) and leaf.ndim > 0


def with_own_numbers(stacked: M, num_layers: int) -> tuple[M, int]:
    """Replace each Python number with a gradient by an `OwnNumbers`, and return the module with its level."""
    found = jax.tree.leaves(stacked, is_leaf=lambda node: isinstance(node, OwnNumbers | HasLayers))
    mine = [node.level for node in found if isinstance(node, OwnNumbers)]
    level: int = mine[0] if mine else level_above(found)

    def wrap(leaf: Any) -> Any:
        return OwnNumbers([leaf] * num_layers, level) if is_trained(leaf) else leaf

    return jax.tree.map(wrap, stacked, is_leaf=own(level)), level


def as_one_layer(stacked: M, level: int) -> M:
    """Return the stack as the xs of a scan: per-layer values have the layers along axis 0."""

    def one(path: Any, node: Any) -> Any:
        return node.as_one(path_text(path)) if isinstance(node, OwnNumbers) and node.level == level else node

    result: M = jax.tree_util.tree_map_with_path(one, stacked, is_leaf=own(level))
    return result


def take_layers(stacked: M, positions: Sequence[int], level: int) -> list[M]:
    """Return the layers at these positions, each as a module of its own."""
    nodes, treedef = jax.tree.flatten(stacked, is_leaf=own(level))
    columns = [entries(node, positions, level) for node in nodes]
    return [jax.tree.unflatten(treedef, [column[at] for column in columns]) for at in range(len(positions))]


def entries(node: Any, positions: Sequence[int], level: int) -> Sequence[Any]:
    """Return the entries of a leaf of a stack for the layers at these positions."""
    if own(level)(node):
        return [node[position] for position in positions]
    refuse_wrapped(node)
    return rows(node, positions) if is_stacked(node) else [node] * len(positions)


def take_traced(stacked: M, index: Any, level: int) -> M:
    """Return the layer at a traced index, which is clamped to the ends, as in jax."""

    def take(leaf: Any) -> Any:
        if not is_stacked(leaf):
            return leaf
        return jax.lax.dynamic_index_in_dim(jnp.asarray(leaf), index, axis=0, keepdims=False)

    layer: M = jax.tree.map(take, as_one_layer(stacked, level))
    return layer
