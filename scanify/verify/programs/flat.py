"""The result of a call as arrays in an order that does not depend on the order of fields.

Fields are found by their names, so a Module with fields in another order is the same result.
"""

from __future__ import annotations

from typing import Any

import jax

from scanify.nn.trees.key_order import in_order, ordered
from scanify.verify.leaves.correspond import Slot
from scanify.verify.objects.held import opened
from scanify.verify.values.arrays import struct

Rank = tuple[tuple[int, int | str], ...]


def flat_outputs(result: Any) -> tuple[list[Any], Any]:
    """Return the arrays in the result of a call, and its pytree with slots for them.

    Dicts keep the order of their keys, which jax sorts. NumPy arrays and `jax.ShapeDtypeStruct`, which has no values,
    are compared as part of the pytree.
    """
    result = opened(result)
    leaves, treedef = jax.tree.flatten(result)
    ranks = _ranks(result)
    order = sorted((at for at, leaf in enumerate(leaves) if isinstance(leaf, jax.Array)), key=ranks.__getitem__)
    slots = list(leaves)
    for index, at in enumerate(order):
        slots[at] = Slot(index, struct(leaves[at]))
    keys = jax.tree.structure(ordered(result))
    return [leaves[at] for at in order], in_order(jax.tree.unflatten(treedef, slots), keys)


def _ranks(tree: Any) -> list[Rank]:
    """Return the rank of each leaf: by name for attributes, otherwise by position among its siblings."""
    places: dict[tuple[Any, ...], dict[Any, int]] = {}
    found = []
    for path, _ in jax.tree_util.tree_leaves_with_path(tree):
        rank: list[tuple[int, int | str]] = []
        for depth, key in enumerate(path):
            if isinstance(key, jax.tree_util.GetAttrKey):
                rank.append((0, key.name))
            else:
                beside = places.setdefault(tuple(map(str, path[:depth])), {})
                rank.append((1, beside.setdefault(str(key), len(beside))))
        found.append(tuple(rank))
    return found
