"""The mapping of parameters that a case gives: `gpt.mapping = {"stack.w": "layers[*].w", "head": "out"}`.

A key is a path in the rewritten model, its value one in the original; both may name a leaf or a part with leaves in it.
In a value, `[*]` matches all indices, `[1:]` a slice of them, and `block_*` all numbers: the leaves are stacked in that
order along axis 0, and along axis 1 for a second one. The longest key applies if several match. Leaves without a key
are matched as if there were no mapping.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from scanify.errors import ScanifyError
from scanify.verify.leaves.correspond import Recipe
from scanify.verify.leaves.leaves import STAR, Keys, Leaf, aval_text, grid, leaves_of, name_of, number_in

_KEY = re.compile(r"\.?([^.\[\]]+)|(\[[^\]]*\])")
_SLICE = re.compile(r"\[(-?\d+)?:(-?\d+)?(?::(-?[1-9]\d*)?)?\]")


def given_recipes(before: Any, after: Any, mapping: object) -> dict[int, Recipe]:
    """Return the recipes of `mapping`, by the number of the leaf of the rewritten model.

    Raises ScanifyError if it is not a mapping of paths to paths, if one of its paths names nothing, if leaves do not
    fit, or if a leaf of the original would be in two places.
    """
    if not isinstance(mapping, Mapping) or not all(isinstance(part, str) for pair in mapping.items() for part in pair):
        raise ScanifyError(
            "expected the mapping of the case to be a dict of paths in the rewritten model to paths in the original, "
            f"such as {{'stack.w': 'layers[*].w'}}, got {mapping!r}"
        )
    ours, theirs = leaves_of(after), leaves_of(before)
    paths = {_parsed(key): (key, value) for key, value in mapping.items()}
    unknown = [key for keys, (key, _) in paths.items() if not any(leaf.keys[: len(keys)] == keys for leaf in ours)]
    if unknown:
        raise _nothing(unknown[0], "rewritten", ours)
    found: dict[int, Recipe] = {}
    used: dict[int, str] = {}
    for leaf in ours:
        held = [keys for keys in paths if leaf.keys[: len(keys)] == keys]
        if not held:
            continue
        longest = max(held, key=len)
        rest = leaf.keys[len(longest) :]
        found[leaf.index] = recipe = _recipe(leaf, (*_parsed(paths[longest][1]), *rest), theirs)
        for source in recipe.sources:
            if source in used:
                raise ScanifyError(
                    f"the mapping of the case puts {theirs[source].name} of the original into both {used[source]} and "
                    f"{leaf.name}; each leaf must be in one place"
                )
            used[source] = leaf.name
    return found


def _recipe(leaf: Leaf, pattern: Keys, theirs: Sequence[Leaf]) -> Recipe:
    members: dict[tuple[int, ...], Leaf] = {}
    for each in theirs:
        numbers = _numbers(each.keys, pattern)
        if numbers is not None:
            members[numbers] = each
    members = _sliced(members, [key for key in pattern if _is_open(key)])
    path = name_of(pattern)
    if not members:
        raise _nothing(path, "original", theirs)
    group = grid(pattern, members)
    if group is None:
        raise ScanifyError(
            f"the mapping of the case makes {leaf.name} of {path}, but its leaves in the original differ in shape or "
            "dtype, or some of them are missing, so they cannot be stacked"
        )
    expected = theirs[group.recipe.sources[0]]
    made = leaf.made_of(group.recipe, expected)
    if not made:
        stacked = f", stacked {'x'.join(map(str, group.recipe.lead))}" if group.recipe.lead else ""
        raise ScanifyError(
            f"the mapping of the case makes {leaf.name} of {path}: each is {aval_text(expected)} in the original"
            f"{stacked}, but {leaf.name} is {aval_text(leaf)}"
        )
    wanted = [theirs[source] for source in group.recipe.sources]
    if len(made) > 1 and all(each.concrete for each in (leaf, *wanted)):
        prints = tuple(each.prints()[0] for each in wanted)
        made.sort(key=lambda recipe: leaf.prints(len(recipe.lead), recipe.first) != prints)
    return made[0]


def _numbers(keys: Keys, pattern: Keys) -> tuple[int, ...] | None:
    """Return the numbers of a leaf at the open places of `pattern`; None if it does not match."""
    if len(keys) != len(pattern):
        return None
    numbers = []
    for key, wanted in zip(keys, pattern, strict=True):
        if not _is_open(wanted):
            if key != wanted:
                return None
            continue
        number = number_in(key)
        form = r"\[\d+\]" if _SLICE.fullmatch(wanted) else re.escape(wanted).replace(re.escape(STAR), r"\d+")
        if number is None or not re.fullmatch(form, key):
            return None
        numbers.append(number)
    return tuple(numbers)


def _is_open(key: str) -> bool:
    return STAR in key or _SLICE.fullmatch(key) is not None


def _sliced(members: dict[tuple[int, ...], Leaf], keys: Sequence[str]) -> dict[tuple[int, ...], Leaf]:
    """Return the members selected by the slices among the open keys, with their numbers counted along the slice."""
    for axis, key in enumerate(keys):
        match = _SLICE.fullmatch(key)
        if match is None:
            continue
        start, stop, step = (int(part) if part else None for part in match.groups())
        size = max((numbers[axis] for numbers in members), default=-1) + 1
        kept = {number: at for at, number in enumerate(range(size)[start:stop:step])}
        members = {
            (*numbers[:axis], kept[numbers[axis]], *numbers[axis + 1 :]): leaf
            for numbers, leaf in members.items()
            if numbers[axis] in kept
        }
    return members


def _parsed(path: str) -> Keys:
    """Split `layers[*].w` into its keys `("layers", "[*]", "w")`."""
    keys = tuple(name or index for name, index in _KEY.findall(path))
    if not keys or "".join(part.group() for part in _KEY.finditer(path)) != path:
        raise ScanifyError(f"the mapping of the case: {path!r} is no path such as layers[*].attn.w")
    return keys


def _nothing(path: str, version: str, leaves: Sequence[Leaf]) -> ScanifyError:
    names = [leaf.name for leaf in leaves]
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return ScanifyError(f"the mapping of the case: {path} is no leaf of the {version} model; it has {shown}")
