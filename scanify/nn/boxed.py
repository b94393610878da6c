"""Python numbers that layers give beside the carry: they stay numbers, as in a list, and do not become arrays."""

from dataclasses import dataclass
from typing import Any

import jax

from scanify.nn.leaves import is_number


@dataclass(frozen=True)
class _Number:
    """A leaf that is no array to jax: what holds it is traced, and it comes out as it was."""

    value: Any


def boxed(tree: Any) -> Any:
    """The pytree with its Python numbers hidden from a scan."""
    return jax.tree.map(lambda leaf: _Number(leaf) if is_number(leaf) else leaf, tree)


def unboxed(tree: Any) -> Any:
    """The pytree with its numbers again."""
    return jax.tree.map(lambda leaf: leaf.value if isinstance(leaf, _Number) else leaf, tree)
