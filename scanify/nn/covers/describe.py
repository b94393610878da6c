"""Describe a cover in words: `8 x (5 x Block (a) + Block (b))`."""

from collections.abc import Sequence
from typing import Any

from scanify.nn.covers.cover import Item, Period, Run
from scanify.nn.trees.difference import first_difference
from scanify.nn.trees.leaves import path_text


def describe(cover: Sequence[Item], kinds: Sequence[int], layers: Sequence[Any]) -> str:
    """Describe the cover by the classes of layers; kinds of one class get letters and their first difference.

    `layers[i]` is the layer at position `i`, with arrays as `jax.ShapeDtypeStruct`s.
    """
    names, differences = _names(kinds, layers)
    text = " + ".join(_item(item, kinds, names) for item in cover)
    return "; ".join([f"{len(kinds)} layer{'s' * (len(kinds) != 1)}: {text or 'none'}", *differences])


def _names(kinds: Sequence[int], layers: Sequence[Any]) -> tuple[dict[int, str], list[str]]:
    first = {kind: layers[kinds.index(kind)] for kind in dict.fromkeys(kinds)}
    by_class: dict[str, list[int]] = {}
    for kind, layer in first.items():
        by_class.setdefault(type(layer).__name__, []).append(kind)
    names, differences = {}, []
    for name, members in by_class.items():
        for at, kind in enumerate(members):
            names[kind] = name if len(members) == 1 else f"{name} ({_letters(at)})"
        for kind in members[1:3]:  # a few are enough
            difference = first_difference(first[members[0]], first[kind])
            if difference is not None:
                where = f"{path_text(difference.path)}: {difference}"
                differences.append(f"({_letters(0)}) and ({_letters(members.index(kind))}) differ at {where}")
    return names, differences


def _letters(number: int) -> str:
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def _item(item: Item, kinds: Sequence[int], names: dict[int, str]) -> str:
    if isinstance(item, Run):
        name = names[kinds[item.start]]
        return name if item.count == 1 else f"{item.count} x {name}"
    assert isinstance(item, Period)
    return f"{item.count} x ({' + '.join(_item(run, kinds, names) for run in item.runs)})"
