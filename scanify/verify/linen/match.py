"""Match the variables of the scan with the variables of the loop, by a known renaming of modules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax

from scanify.verify.leaves.correspond import Correspondence, Mismatch, Recipe
from scanify.verify.linen.model import LinenModel
from scanify.verify.linen.renaming import Path, Renaming, entries, place_of
from scanify.verify.values.arrays import is_traced, struct

Key = tuple[str, Path, str]


def matched(before: LinenModel, after: LinenModel) -> Correspondence | Mismatch:
    """Match the variables of the scan with the stacked variables of the loop; a Mismatch that names an odd one."""
    renaming = before.fixed.streams.renaming
    ours, theirs = _leaves(before.variables), _leaves(after.variables)
    at = {path: index for index, (path, _) in enumerate(ours)}
    rows: dict[Key, dict[int, int]] = {}
    leads: dict[Key, tuple[int, ...]] = {}
    for (collection, path, inside), index in at.items():
        place = place_of(renaming, path)
        key = collection, place.path, inside
        rows.setdefault(key, {})[place.row] = index
        leads[key] = place.lead
    recipes = []
    for key, leaf in theirs:
        found, lead = rows.pop(key, {}), leads.get(key, ())
        if not found or len(found) != math.prod(lead):
            return Mismatch(_name(key), "a variable of the scan that the loop has not, or not in every layer")
        sources = tuple(found[row] for row in range(len(found)))
        wanted = struct(ours[sources[0]][1])
        if any((struct(ours[s][1]).shape, struct(ours[s][1]).dtype) != (wanted.shape, wanted.dtype) for s in sources):
            return Mismatch(_name(key), "layers of the loop that differ in shape or dtype")
        if ((*lead, *wanted.shape), wanted.dtype) != (leaf.shape, leaf.dtype):
            expected = f"{wanted.dtype}{[*lead, *wanted.shape]}"
            return Mismatch(_name(key), f"expected {expected}, the scan has {leaf.dtype}{list(leaf.shape)}")
        recipes.append(Recipe(sources, lead))
    if rows:
        return Mismatch(_name(next(iter(rows))), "a variable of the loop that the scan does not have")
    return Correspondence(
        tuple(_name(key) for key, _ in ours),
        tuple(_layer(renaming, key[1]) for key, _ in ours),
        tuple(recipes),
        stacks=tuple(sorted({family.count for family in renaming.families})),
        matched=tuple((".".join(family.after), str(family)) for family in renaming.families),
        how="modules were matched by their names and shapes",
    )


def _leaves(variables: Mapping[str, Any]) -> list[tuple[Key, Any]]:
    """Return the array leaves in flattening order: collection, path, and place in the variable."""
    found = []
    for collection in sorted(variables):
        for path, value in entries(variables[collection]):
            for inside, leaf in jax.tree_util.tree_leaves_with_path(value):
                if is_traced(leaf):
                    found.append(((collection, path, jax.tree_util.keystr(inside)), leaf))
    return found


def _name(key: Key) -> str:
    collection, path, inside = key
    return f"{'.'.join(path)}{inside}" + ("" if collection == "params" else f" of {collection}")


def _layer(renaming: Renaming, path: Path) -> int | None:
    return next((step.number for step in renaming.steps(path[:-1]) if step.lead), None)
