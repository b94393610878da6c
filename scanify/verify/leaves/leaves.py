"""The array leaves of a model by their key paths, and groups of them that could have been stacked."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np

from scanify.verify.leaves.correspond import Recipe
from scanify.verify.values.arrays import bits, is_traced, struct

Keys = tuple[str, ...]

# Replaces an index in the keys of a group.
STAR = "*"
_NUMBER = re.compile(r"(.*?)(\d+)(\D*)")


@dataclass(frozen=True, eq=False)
class Leaf:
    """One array leaf of a model: its number in flattening order, its keys, and its array."""

    index: int
    keys: Keys
    array: Any

    @property
    def name(self) -> str:
        """Return the key path in Python's notation: `layers[0].attn.w`."""
        return name_of(self.keys)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def form(self, rank: int = 0, first: int = 0) -> tuple[tuple[int, ...], str]:
        """Return shape and dtype without `rank` axes from axis `first` on."""
        return self.shape[:first] + self.shape[first + rank :], str(self.array.dtype)

    @cached_property
    def concrete(self) -> bool:
        return not isinstance(self.array, jax.ShapeDtypeStruct)

    def prints(self, rank: int = 0, first: int = 0) -> tuple[str, ...]:
        """Return a fingerprint of dtype, shape and bits for each slice along `rank` axes from axis `first` on, in
        row-major order."""
        if (rank, first) not in self._prints:
            raw, head = bits(self.array), repr(self.form(rank, first)).encode()
            count = math.prod(self.shape[first : first + rank])
            if first and raw.size:
                raw = np.moveaxis(raw.reshape(math.prod(self.shape[:first]), count, -1), 1, 0)
            flat = raw.reshape(count, -1) if raw.size else [b""] * count
            self._prints[rank, first] = tuple(hashlib.blake2b(head + bytes(part)).hexdigest() for part in flat)
        return self._prints[rank, first]

    @cached_property
    def _prints(self) -> dict[tuple[int, int], tuple[str, ...]]:
        return {}

    def made_of(self, recipe: Recipe, source: Leaf) -> list[Recipe]:
        """Return the recipe with the axes of stacking at each place of this leaf that shapes allow, first in front."""
        rank = len(recipe.lead)
        return [
            Recipe(recipe.sources, recipe.lead, tuple(range(first, first + rank)))
            for first in range(len(source.shape) + 1 if rank else 1)
            if self.shape[first : first + rank] == recipe.lead and self.form(rank, first) == source.form()
        ]


@dataclass(frozen=True)
class Group:
    """Leaves of the original that differ in one or two numbers of their keys, in the order of these numbers.

    `keys` has a STAR for each such number; `lead` is the count along each.
    """

    keys: Keys
    recipe: Recipe


def leaves_of(model: Any) -> tuple[Leaf, ...]:
    """Return the array leaves of `model` (arrays or `jax.ShapeDtypeStruct`), in flattening order."""
    found = jax.tree_util.tree_leaves_with_path(model)
    arrays = [(path, leaf) for path, leaf in found if is_traced(leaf)]
    return tuple(
        Leaf(index, tuple(str(key).removeprefix(".") for key in path), leaf)
        for index, (path, leaf) in enumerate(arrays)
    )


def name_of(keys: Keys) -> str:
    """Join keys to one path: `("layers", "[0]", "w")` is `layers[0].w`."""
    return "".join(key if key.startswith("[") else f".{key}" for key in keys).removeprefix(".")


def number_in(key: str) -> int | None:
    """Return the number in `[3]` or `block_3`; None without one."""
    match = _NUMBER.fullmatch(key)
    return None if match is None else int(match[2])


def starred(key: str) -> str:
    """Replace the number in the key by a STAR."""
    return _NUMBER.sub(rf"\1{STAR}\3", key, count=1)


def groups_of(leaves: Sequence[Leaf]) -> tuple[Group, ...]:
    """Return all groups of at least two leaves of one shape and dtype whose numbers form a full grid."""
    found: dict[Keys, dict[tuple[int, ...], Leaf]] = defaultdict(dict)
    for leaf in leaves:
        numbers = [(at, n) for at, key in enumerate(leaf.keys) if (n := number_in(key)) is not None]
        for chosen in itertools.chain(itertools.combinations(numbers, 1), itertools.combinations(numbers, 2)):
            at = {position for position, _ in chosen}
            keys = tuple(starred(key) if i in at else key for i, key in enumerate(leaf.keys))
            found[keys][tuple(number for _, number in chosen)] = leaf
    grouped = (grid(keys, members) for keys, members in found.items() if len(members) > 1)
    return tuple(group for group in grouped if group is not None)


def grid(keys: Keys, members: dict[tuple[int, ...], Leaf]) -> Group | None:
    """Return the group of `members`, by their numbers; None if their shapes differ or the grid has gaps."""
    if len({leaf.form() for leaf in members.values()}) != 1:
        return None
    axes = [sorted(set(numbers)) for numbers in zip(*members, strict=True)]
    order = list(itertools.product(*axes))
    if any(numbers not in members for numbers in order):
        return None
    return Group(keys, Recipe(tuple(members[n].index for n in order), tuple(len(axis) for axis in axes)))


def layer_of(keys: Iterable[str]) -> int | None:
    """Return the index of the outermost list that contains a leaf; None outside of lists."""
    return next((int(key[1:-1]) for key in keys if re.fullmatch(r"\[\d+\]", key)), None)


def aval_text(leaf: Leaf) -> str:
    """Return `float32[4, 8]`."""
    aval = struct(leaf.array)
    return f"{aval.dtype}{list(aval.shape)}"
