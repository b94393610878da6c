"""Split an argument by layer: a list, a stack of any kind, or a pytree that contains stacks."""

from typing import Any

import equinox as eqx
import jax

from scanify.nn.arguments.layer_inputs import Ref, entries_of
from scanify.nn.arguments.moved import moved_leaf, refuse_other_leaves
from scanify.nn.trees.has_layers import is_list_of_layers, is_stack
from scanify.nn.trees.key_order import ordered


def layer_elements(value: Any, axis: int, num_layers: int, what: str) -> list[Any]:
    """Return each layer's element of an argument for which `has_elements` holds, with a `Ref` for each array.

    Raises ValueError for an axis other than 0, and if the numbers of elements and layers differ.
    """
    if axis != 0:
        kind = "list" if is_list_of_layers(value) else "stack"
        raise ValueError(f"{what}: a {kind} with one element per layer has only axis 0, got in_axes {axis}")
    if is_list_of_layers(value):
        elements = [jax.tree.map(_ref, ordered(one)) for one in value]
    elif is_stack(value):
        elements = type(value)._refs(value)
    else:
        return _within(value, num_layers, what)
    if len(elements) != num_layers:
        raise ValueError(
            f"{what}: expected one element for each of the {num_layers} layers, got {len(elements)}. A list, tuple or "
            "stack holds one element per layer; a pytree of arrays that are stacked already is a dict, named tuple or "
            "module"
        )
    return elements


def _within(value: Any, num_layers: int, what: str) -> list[Any]:
    """Split a pytree with stacks among its leaves: each layer gets it with a layer in place of each stack, and with its
    entries of the other arrays."""
    leaves, treedef = jax.tree.flatten(value, is_leaf=is_stack)
    refuse_other_leaves([None if is_stack(leaf) or eqx.is_array(leaf) else leaf for leaf in leaves], what)
    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(value, is_leaf=is_stack)[0]]
    columns = []
    for leaf, path in zip(leaves, paths, strict=True):
        place = f"{what}{jax.tree_util.keystr(path)}"
        if is_stack(leaf):
            columns.append(layer_elements(leaf, 0, num_layers, place))
        elif eqx.is_array(leaf):
            columns.append(entries_of(moved_leaf(leaf, 0, num_layers, what, path), num_layers))
        else:
            columns.append([leaf] * num_layers)
    return [jax.tree.unflatten(treedef, [column[at] for column in columns]) for at in range(num_layers)]


def _ref(leaf: Any) -> Any:
    return Ref(leaf) if eqx.is_array(leaf) else leaf
