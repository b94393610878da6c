"""Python numbers of the layers of a stack, one for each layer, so that each can be trained by itself.

To `jax.grad` and to optimisers that select by `equinox.is_inexact_array_like`, a field `scale: float` is a parameter.
Stored once for all layers it would have the sum of their gradients; in a list each layer has its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from scanify.nn.trees.leaves import aval, aval_text, has_aval, is_number, same_value
from scanify.nn.trees.stack_leaves import stack_leaves
from scanify.nn.trees.weak import weakly_typed


@jax.tree_util.register_pytree_with_keys_class
class OwnNumbers:
    """The numbers at one place in the layers of a stack, in the order of the layers.

    `level` distinguishes nested stacks: it is the level of the stack whose layers have these numbers.
    """

    def __init__(self, numbers: Sequence[Any], level: int) -> None:
        self._numbers = tuple(numbers)
        self.level = level

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> Any:
        return self._numbers[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._numbers)

    def __eq__(self, other: object) -> bool:
        """Compare equal to a number that all layers share, so that `stack.stacked.dropout.p == 0.5` works."""
        if isinstance(other, OwnNumbers):
            return self.level == other.level and same_value(self._numbers, other._numbers)
        return is_number(other) and all(is_number(number) and number == other for number in self._numbers)

    __hash__ = None  # type: ignore[assignment]

    def taken(self, positions: Sequence[int]) -> "OwnNumbers":
        """Return the numbers of the layers at these positions."""
        return OwnNumbers([self._numbers[position] for position in positions], self.level)

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], int]:
        return [(jax.tree_util.SequenceKey(at), number) for at, number in enumerate(self._numbers)], self.level

    def tree_flatten(self) -> tuple[tuple[Any, ...], int]:
        return self._numbers, self.level

    @classmethod
    def tree_unflatten(cls, level: int, numbers: Sequence[Any]) -> "OwnNumbers":
        return cls(numbers, level)

    def __repr__(self) -> str:
        if self._numbers and all(same_value(number, self._numbers[0]) for number in self._numbers):
            return f"{len(self)} x {self._numbers[0]!r}"
        return f"[{', '.join(map(repr, self._numbers))}]"

    def as_one(self, what: str) -> Any:
        """Return the number if all layers have the same one, else an array with a leading axis.

        Raises ValueError if the layers have numbers of several types, which one body for all of them cannot have.
        """
        first = self._numbers[0]
        if not any(map(has_aval, self._numbers)) and all(same_value(number, first) for number in self._numbers):
            return first
        if not all(has_aval(number) or is_number(number) for number in self._numbers):
            return self._refused(what)
        arrays = [number if has_aval(number) else jnp.asarray(number) for number in self._numbers]
        if any(aval(array) != aval(arrays[0]) for array in arrays):
            return self._refused(what)
        stacked = stack_leaves(arrays)
        return weakly_typed(stacked) if aval(arrays[0])[2] else stacked

    def _refused(self, what: str) -> Any:
        found = ", ".join(dict.fromkeys(map(aval_text, self._numbers)))
        raise ValueError(
            f"expected the layers of a stack to have numbers of one type at {what}, got {found}; hold the layers in a "
            "BlockSeq, or give them numbers of one type"
        )


def is_trained(leaf: Any) -> bool:
    """Return True for a Python number that has a gradient."""
    return is_number(leaf) and isinstance(leaf, float | complex)


def own(level: int) -> Callable[[Any], bool]:
    """Return a predicate for an `OwnNumbers` of that level."""
    return lambda node: isinstance(node, OwnNumbers) and node.level == level
