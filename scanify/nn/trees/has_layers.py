"""The base class of all stacks as seen by arguments, and the values that have one element for each layer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax


class HasLayers(ABC):
    """A sequence of layers that are stored stacked. `level` is higher than for every stack inside its layers."""

    level: Any

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _refs(self) -> list[Any]:
        """Return the layers, each with a `Ref` in place of each array."""


def is_stack(value: Any) -> bool:
    """Return True for a stack of any kind."""
    return isinstance(value, HasLayers)


def is_list_of_layers(value: Any) -> bool:
    """Return True for values with one element per layer; a named tuple is a pytree of arrays, as caches often are."""
    return isinstance(value, list | range | eqx.nn.Sequential) or type(value) is tuple


def has_elements(value: Any) -> bool:
    """Return True if a value is split by layer: a list, a stack, or a pytree that holds stacks."""
    return is_list_of_layers(value) or any(map(is_stack, jax.tree.leaves(value, is_leaf=is_stack)))


def level_above(found: Iterable[Any]) -> int:
    """Return the level of a stack whose layers contain these nodes."""
    return 1 + max((node.level for node in found if isinstance(node, HasLayers)), default=-1)
