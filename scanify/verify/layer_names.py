"""The layer that a parameter belongs to, from its key path."""

from __future__ import annotations

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
