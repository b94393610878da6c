"""What is known of a stack of any kind where it is an argument, and which values have one element for each layer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax


class HasLayers(ABC):
    """A sequence of layers that are kept stacked. `level` is higher than that of every stack inside of its layers."""

    level: Any

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _refs(self) -> list[Any]:
        """The layers, each with a `Ref` in place of each array."""


def is_stack(value: Any) -> bool:
    """Whether a value is a stack of any kind."""
    return isinstance(value, HasLayers)


def is_list_of_layers(value: Any) -> bool:
    """Values with one element per layer; a named tuple is a pytree of arrays, as a cache often is."""
    return isinstance(value, list | range | eqx.nn.Sequential) or type(value) is tuple


def has_elements(value: Any) -> bool:
    """Whether a value is taken apart layer by layer: a list, a stack, or a pytree that holds stacks."""
    return is_list_of_layers(value) or any(map(is_stack, jax.tree.leaves(value, is_leaf=is_stack)))


def level_above(found: Iterable[Any]) -> int:
    """The level of a stack whose layers hold these, stacks among them."""
    return 1 + max((node.level for node in found if isinstance(node, HasLayers)), default=-1)
