"""The leaves of an original that holds stacks, layer by layer: the common inputs if the other version holds lists."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from typing import Any

import jax

from scanify.verify.leaves.correspond import (
    Correspondence,
    Mismatch,
    Recipe,
    Slot,
    is_stack,
    layers_of,
    slotted,
    walked,
)
from scanify.verify.leaves.infer import infer


def apart(before: Any, after: Any) -> Correspondence | None:
    """Match two pytrees whose shared leaves are the layers' leaves in the stacks of `before`.

    None if `before` holds no stack, or if they do not match in this form either.
    """
    taken = _taken_apart(slotted(before))
    if taken is None:
        return None
    tree, recipes = taken
    found = walked(tree, slotted(after))
    return None if isinstance(found, Mismatch) else dataclasses.replace(found, before=recipes)


def turned(before: Any, after: Any) -> Correspondence | None:
    """Match two models whose shared leaves are the leaves of `after`: a handwritten scan becomes a loop."""
    found = infer(after, before)
    if isinstance(found, str):
        return None
    own = tuple(Recipe((i,)) for i in range(len(found.names)))
    matched = tuple((of_after, of_before) for of_before, of_after in found.matched)
    return dataclasses.replace(found, recipes=own, before=found.recipes, stacks=(), matched=matched)


def _taken_apart(tree: Any) -> tuple[Any, tuple[Recipe, ...]] | None:
    """Return the pytree of `Slot`s with lists in place of its stacks, and the recipes of its own leaves."""
    leaves, treedef = jax.tree.flatten(_listed(tree))
    places: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    axes: dict[int, tuple[int, ...]] = {}
    count = 0
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Slot):
            found = places[leaf.index]
            if leaf.at in found:  # layers share an array, so it has no leaf for each of them
                return None
            found[leaf.at] = count
            axes[leaf.index] = leaf.axes
            leaves[i] = Slot(count, jax.ShapeDtypeStruct(leaf.shape, leaf.aval.dtype))
            count += 1
    if all(at == () for found in places.values() for at in found):
        return None
    recipes = []
    for index, found in sorted(places.items()):
        lead = tuple(len({at[axis] for at in found}) for axis in range(len(next(iter(found)))))
        if math.prod(lead) != len(found):
            return None
        recipes.append(Recipe(tuple(found[at] for at in sorted(found)), lead, axes[index]))
    return jax.tree.unflatten(treedef, leaves), tuple(recipes)


def _listed(tree: Any) -> Any:
    return jax.tree.map(
        lambda node: list(map(_listed, layers_of(node))) if is_stack(node) else node, tree, is_leaf=is_stack
    )
