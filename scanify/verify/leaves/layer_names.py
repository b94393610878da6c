"""Find the layer of a parameter by its key path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OPEN = "{}"


@dataclass(frozen=True, order=True)
class Layer:
    """A layer of the original: the key path of its list, and its index there.

    Layers outside of lists with numbers in their names, such as `layer_3`, belong to `layer_{}`.
    """

    list: str
    index: int

    def __str__(self) -> str:
        return self.list.replace(_OPEN, str(self.index)) if _OPEN in self.list else f"{self.list}[{self.index}]"


def layer_of(name: str, index: int | None) -> Layer | None:
    """Return the layer of a leaf with this key path and layer index (`Correspondence`); None outside of layers."""
    if index is None:
        return None
    head, is_list, _ = name.partition(f"[{index}]")
    if is_list:
        return Layer(head, index)
    named = re.search(rf"(?<!\d){index}(?!\d)", name)
    return Layer(head if named is None else f"{name[: named.start()]}{_OPEN}", index)


def walked(names: Iterable[str]) -> frozenset[Layer]:
    """Return the layers of leaves that successive iterations read: their list is the outermost one whose index differs.
    `blocks[0][4].w` and `blocks[1][4].w` belong to two layers of `blocks`. Empty if more than indices differ."""
    split = [re.split(r"(\d+)", name) for name in sorted(set(names))]
    keys = {(len(parts), *parts[::2]) for parts in split}
    if len(split) < 2 or len(keys) != 1:
        return frozenset()
    at = min(at for at, column in enumerate(zip(*split, strict=True)) if len(set(column)) > 1)
    return frozenset(Layer(_list("".join(parts[:at])), int(parts[at])) for parts in split)


def _list(head: str) -> str:
    """Return the list of layers whose names continue with an index."""
    return head[:-1] if head.endswith("[") else f"{head}{_OPEN}"
