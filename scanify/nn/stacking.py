"""Many equal layers as one layer whose array leaves have a leading axis, and back."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.leaves import aval_text, is_array, path_text, same_leaf

M = TypeVar("M", bound=eqx.Module)


def stack_layers(layers: Sequence[M]) -> M:
    """One module with every array leaf stacked along a new leading axis, every other leaf and static field shared.

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
            raise TypeError(f"expected layers that are equinox.Modules; layer {index} is of type {_type_name(layer)}")
    _refuse_sharing(layers)
    flat = [jax.tree_util.tree_flatten_with_path(layer) for layer in layers]
    first, treedef = flat[0]
    for index, (_, other) in enumerate(flat[1:], start=1):
        if not _same_treedef(other, treedef):
            raise ValueError(_differ(*_static_difference(layers[0], layers[index]), index))
    stacked = []
    for position, (path, leaf) in enumerate(first):
        column = [leaves[position][1] for leaves, _ in flat]
        _refuse_difference(path, column)
        stacked.append(_stack(column) if is_array(leaf) else leaf)
    result: M = jax.tree_util.tree_unflatten(treedef, stacked)
    return result


def _stack(column: Sequence[Any]) -> Any:
    if all(isinstance(leaf, np.ndarray) for leaf in column):
        return np.stack(column)
    return jnp.stack(column)


def _type_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


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


def _same_treedef(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # static fields whose `__eq__` raises or answers with an array
        return False


def _differ(path: str, mine: Any, theirs: Any, index: int) -> str:
    return (
        f"expected layers that differ only in the values of their arrays; layers 0 and {index} differ at "
        f"{path_text(path)}: {aval_text(mine)} and {aval_text(theirs)}. A scan runs one body for all layers, so this "
        "one would get the value of layer 0: make it an array (or an argument of the call, with in_axes=0), or keep "
        "the Python loop"
    )


def _refuse_difference(path: Any, column: Sequence[Any]) -> None:
    first = column[0]
    for index, leaf in enumerate(column[1:], start=1):
        if is_array(first) and is_array(leaf):
            same = (first.shape, first.dtype) == (leaf.shape, leaf.dtype)
            same = same and getattr(first, "weak_type", False) == getattr(leaf, "weak_type", False)
        else:
            same = not is_array(first) and not is_array(leaf) and same_leaf(first, leaf)
        if not same:
            raise ValueError(_differ(jax.tree_util.keystr(path), first, leaf, index))


def _static_difference(mine: Any, theirs: Any, path: str = "") -> tuple[str, Any, Any]:
    """The first place where two trees of unequal structure part: key path and both values."""
    if type(mine) is not type(theirs):
        return path, mine, theirs
    for step, one, other in _children(mine, theirs):
        if not _equal(one, other):
            return _static_difference(one, other, path + step)
    return path, mine, theirs


def _children(mine: Any, theirs: Any) -> list[tuple[str, Any, Any]]:
    if dataclasses.is_dataclass(mine) and isinstance(mine, eqx.Module):
        names = [field.name for field in dataclasses.fields(mine)]
        return [(f".{name}", getattr(mine, name, None), getattr(theirs, name, None)) for name in names]
    if isinstance(mine, list | tuple) and len(mine) == len(theirs):
        return [(f"[{i}]", one, other) for i, (one, other) in enumerate(zip(mine, theirs, strict=True))]
    if isinstance(mine, dict) and mine.keys() == theirs.keys():
        return [(f"[{key!r}]", mine[key], theirs[key]) for key in mine]
    return []


def _equal(one: Any, other: Any) -> bool:
    """Equal in structure; of arrays only that both are some."""
    if is_array(one) and is_array(other):
        return True
    leaves_one, tree_one = jax.tree_util.tree_flatten(one)
    leaves_other, tree_other = jax.tree_util.tree_flatten(other)
    if not _same_treedef(tree_one, tree_other):
        return False
    pairs = zip(leaves_one, leaves_other, strict=True)
    return all((is_array(a) and is_array(b)) or same_leaf(a, b) for a, b in pairs)


def check_leading_axis(stacked: Any, num_layers: int) -> None:
    """Raises ValueError where an array leaf does not have the layers along its first axis, as after tree surgery."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(stacked)[0]:
        if is_array(leaf) and (leaf.ndim == 0 or leaf.shape[0] != num_layers):
            raise ValueError(
                f"expected every array of the stack to have its {num_layers} layers along axis 0; "
                f"{jax.tree_util.keystr(path)} is {aval_text(leaf)}. Replace leaves of a stack by stacked ones "
                "(`layer.weight` of shape (4, 8) is stored as (num_layers, 4, 8))"
            )


def take_layer(stacked: M, index: Any) -> M:
    """Layer `index` of a stack; a traced index is clamped to the ends, as jax does."""

    def take(leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        if isinstance(index, int):
            return leaf[index]
        return jax.lax.dynamic_index_in_dim(jnp.asarray(leaf), index, axis=0, keepdims=False)

    layer: M = jax.tree_util.tree_map(take, stacked)
    return layer
