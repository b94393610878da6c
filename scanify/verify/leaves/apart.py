"""The leaves of an original that holds stacks, layer by layer: what both versions are functions of where the other
version holds lists.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import jax

from scanify.nn import ArrayStacked, BlockSeq
from scanify.verify.leaves.correspond import Correspondence, Mismatch, Recipe, Slot, slotted, walked
from scanify.verify.leaves.infer import infer


@dataclass(frozen=True, eq=False)
class _Part:
    """Stands for one entry, `at` along its first axes, of the array leaf number `index` of a pytree."""

    index: int
    at: tuple[int, ...]
    aval: jax.ShapeDtypeStruct

    def entry(self, row: int) -> _Part:
        shape = self.aval.shape[1:]
        return _Part(self.index, (*self.at, row), jax.ShapeDtypeStruct(shape, self.aval.dtype))


def apart(before: Any, after: Any) -> Correspondence | None:
    """How two pytrees correspond whose shared leaves are those of the layers in the stacks of `before`.

    None where `before` holds no stack, or they do not correspond so either.
    """
    taken = _taken_apart(slotted(before))
    if taken is None:
        return None
    tree, recipes = taken
    found = walked(tree, slotted(after))
    return None if isinstance(found, Mismatch) else dataclasses.replace(found, before=recipes)


def turned(before: Any, after: Any) -> Correspondence | None:
    """How two models correspond whose shared leaves are those of `after`: a scan by hand that is made a loop."""
    found = infer(after, before)
    if isinstance(found, str):
        return None
    own = tuple(Recipe((i,)) for i in range(len(found.names)))
    matched = tuple((of_after, of_before) for of_before, of_after in found.matched)
    return dataclasses.replace(found, recipes=own, before=found.recipes, stacks=(), matched=matched)


def _taken_apart(tree: Any) -> tuple[Any, tuple[Recipe, ...]] | None:
    """The pytree of `Slot`s with lists in place of its stacks, and how its own leaves are made of theirs."""
    leaves, treedef = jax.tree.flatten(_listed(tree))
    places: dict[int, dict[tuple[int, ...], int]] = defaultdict(dict)
    count = 0
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Slot | _Part):
            at = leaf.at if isinstance(leaf, _Part) else ()
            if at in places[leaf.index]:  # layers share an array: it has no leaf for each of them
                return None
            places[leaf.index][at] = count
            leaves[i] = Slot(count, leaf.aval)
            count += 1
    if all(at == () for found in places.values() for at in found):
        return None
    recipes = []
    for _, found in sorted(places.items()):
        lead = tuple(len({at[axis] for at in found}) for axis in range(len(next(iter(found)))))
        if math.prod(lead) != len(found):
            return None
        recipes.append(Recipe(tuple(found[at] for at in sorted(found)), lead))
    return jax.tree.unflatten(treedef, leaves), tuple(recipes)


def _listed(tree: Any) -> Any:
    return jax.tree.map(_layers, tree, is_leaf=_is_stack)


def _is_stack(node: Any) -> bool:
    return isinstance(node, ArrayStacked | BlockSeq)


def _layers(node: Any) -> Any:
    if isinstance(node, BlockSeq):
        return [_listed(layer) for layer in node.with_arrays(_entry)]
    if isinstance(node, ArrayStacked):
        return [_listed(jax.tree.map(lambda leaf, i=i: _entry(leaf, i), node.stacked_of(i))) for i in range(len(node))]
    return node


def _entry(leaf: Any, row: int | None) -> Any:
    if row is None or not isinstance(leaf, Slot | _Part):
        return leaf
    return (leaf if isinstance(leaf, _Part) else _Part(leaf.index, (), leaf.aval)).entry(row)
