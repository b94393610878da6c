"""The layer that a parameter belongs to, from its key path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OPEN = "{}"


@dataclass(frozen=True, order=True)
class Layer:
    """A layer of the original: the key path of its list, and its index there.

    Layers that are in no list but have numbers in their names, as `layer_3`, are of `layer_{}`.
    """

    list: str
    index: int

    def __str__(self) -> str:
        return self.list.replace(_OPEN, str(self.index)) if _OPEN in self.list else f"{self.list}[{self.index}]"


def layer_of(name: str, index: int | None) -> Layer | None:
    """The layer of a leaf with this key path and this index of a layer (`Correspondence`); None outside of layers."""
    if index is None:
        return None
    head, is_list, _ = name.partition(f"[{index}]")
    if is_list:
        return Layer(head, index)
    named = re.search(rf"(?<!\d){index}(?!\d)", name)
    return Layer(head if named is None else f"{name[: named.start()]}{_OPEN}", index)


def walked(names: Iterable[str]) -> frozenset[Layer]:
    """The layers of leaves that stand for one another, from turn to turn of a loop: their list is the outermost one
    whose index differs. `blocks[0][4].w` and `blocks[1][4].w` are of two layers of `blocks`. Empty where names differ
    in more than indices.
    """
    split = [re.split(r"(\d+)", name) for name in sorted(set(names))]
    keys = {(len(parts), *parts[::2]) for parts in split}
    if len(split) < 2 or len(keys) != 1:
        return frozenset()
    at = min(at for at, column in enumerate(zip(*split, strict=True)) if len(set(column)) > 1)
    return frozenset(Layer(_list("".join(parts[:at])), int(parts[at])) for parts in split)


def _list(head: str) -> str:
    """The list of layers whose names go on with an index after this."""
    return head[:-1] if head.endswith("[") else f"{head}{_OPEN}"
