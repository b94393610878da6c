"""Split the arguments and results of a function into arrays, which are traced, and everything else, which is static."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np


class Arguments:
    """The arguments without their arrays. Equal ones share a trace."""

    def __init__(self, treedef: Any, others: tuple[Any, ...]) -> None:
        self._treedef, self.others = treedef, others
        self._key = (treedef, tuple(map(value_key, others)))

    @classmethod
    def of(cls, tree: Any) -> tuple[Arguments, list[Any]]:
        """Split a pytree into its static part and its arrays."""
        leaves, treedef = jax.tree.flatten(tree)
        others = tuple(_ARRAY if is_array(leaf) else leaf for leaf in leaves)
        return cls(treedef, others), [leaf for leaf in leaves if is_array(leaf)]

    def tree(self, arrays: list[Any]) -> Any:
        """Rebuild the pytree with these arrays."""
        waiting = iter(arrays)
        return jax.tree.unflatten(self._treedef, [next(waiting) if other is _ARRAY else other for other in self.others])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arguments) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class _Array(enum.Enum):
    """Marks the position of an array."""

    HERE = enum.auto()


_ARRAY = _Array.HERE


class _ById:
    """Wraps an unhashable object; equal only to a wrapper of the same object."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def value_key(value: Any) -> Any:
    """Return a key that distinguishes 1, 1.0 and True, and 0.0 and -0.0, which are equal in Python but not to `f`."""
    if isinstance(value, float | complex):
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        return _ById(value)
    return (type(value), value)


def is_array(leaf: Any) -> bool:
    """True if a leaf is traced. A Python number is not, since `f` may branch on it."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic) and not _holds_objects(leaf)


def _holds_objects(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OUSV"


def written(before: tuple[list[Any], Any], after: tuple[list[Any], Any]) -> bool:
    """True if a call changed a pytree, given its leaves and structure before and after."""
    same = before[1] == after[1] and all(one is other for one, other in zip(before[0], after[0], strict=True))
    return not same


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Result:
    """The result of a function, as a pytree whose leaves are its arrays."""

    arrays: list[Any]
    others: tuple[Any, ...]
    treedef: Any

    @classmethod
    def of(cls, tree: Any) -> Result:
        """Split the result of a function."""
        leaves, treedef = jax.tree.flatten(tree)
        others = tuple(_ARRAY if is_array(leaf) else leaf for leaf in leaves)
        return cls([leaf for leaf in leaves if is_array(leaf)], others, treedef)

    def whole(self) -> Any:
        """Rebuild the original pytree."""
        waiting = iter(self.arrays)
        return jax.tree.unflatten(self.treedef, [next(waiting) if one is _ARRAY else one for one in self.others])

    def tree_flatten(self) -> tuple[list[Any], Any]:
        """Return the arrays, and the rest as auxiliary data, which is equal only for the same result."""
        return self.arrays, (_ById(self.others), self.treedef)

    @classmethod
    def tree_unflatten(cls, data: Any, arrays: Any) -> Result:
        """The inverse of `tree_flatten`."""
        others, treedef = data
        return cls(list(arrays), others.value, treedef)
