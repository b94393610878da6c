"""The ys of layers as a list keeps them: numbers stay numbers, and dicts keep the order of their keys.

To jax a Python number is an array, and the keys of a dict are sorted.
"""

from dataclasses import dataclass
from typing import Any

import jax

from scanify.nn.trees.leaves import is_number


@dataclass(frozen=True)
class Number:
    """A leaf that is not an array to jax, so that it passes through tracing unchanged."""

    value: Any


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class _Dict:
    """The entries of a dict in its own order; the keys need not be sortable."""

    keys: tuple[Any, ...]
    values: tuple[Any, ...]

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return self.values, self.keys

    @classmethod
    def tree_unflatten(cls, keys: tuple[Any, ...], values: Any) -> "_Dict":
        return cls(keys, tuple(values))


def boxed(tree: Any) -> Any:
    """Box the Python numbers and dicts of a pytree, so that a scan keeps them."""

    def box(node: Any) -> Any:
        if type(node) is dict:
            return _Dict(tuple(node), tuple(boxed(value) for value in node.values()))
        return Number(node) if is_number(node) else node

    return jax.tree.map(box, tree, is_leaf=lambda node: type(node) is dict)


def unboxed(tree: Any) -> Any:
    """Return the original pytree."""

    def unbox(node: Any) -> Any:
        if isinstance(node, _Dict):
            return dict(zip(node.keys, map(unboxed, node.values), strict=True))
        return node.value if isinstance(node, Number) else node

    return jax.tree.map(unbox, tree, is_leaf=lambda node: isinstance(node, _Dict))
