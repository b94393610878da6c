"""The layer that a parameter belongs to, from its key path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Layer:
    """A layer of the original: the key path of its list, and its index there."""

    list: str
    index: int

    def __str__(self) -> str:
        return f"{self.list}[{self.index}]"


def layer_of(name: str, index: int | None) -> Layer | None:
    """The layer of a leaf with this key path and this index of a layer (`Correspondence`); None outside of layers."""
    return None if index is None else Layer(name.partition(f"[{index}]")[0], index)


def walked(names: Iterable[str]) -> frozenset[Layer]:
    """The layers of leaves that stand for one another, from turn to turn of a loop: their list is the outermost one
    whose index differs. `blocks[0][4].w` and `blocks[1][4].w` are of two layers of `blocks`. Empty where names differ
    in more than indices.
    """
    split = [re.split(r"\[(\d+)\]", name) for name in sorted(set(names))]
    keys = {(len(parts), *parts[::2]) for parts in split}
    if len(split) < 2 or len(keys) != 1:
        return frozenset()
    at = min(at for at, column in enumerate(zip(*split, strict=True)) if len(set(column)) > 1)
    return frozenset(Layer(_path(parts[:at]), int(parts[at])) for parts in split)


def _path(parts: list[str]) -> str:
    """The key path again, of names and indices in turn."""
    return "".join(f"[{part}]" if at % 2 else part for at, part in enumerate(parts))
