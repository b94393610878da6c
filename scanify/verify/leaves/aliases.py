"""Rebuild arguments with aliases: a list that a call receives twice is one list, so writes in one place show in both.

A pytree does not record this, and rebuilding it from its leaves creates two lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax


def rebuilt(tree: Any, leaves: Sequence[Any]) -> Any:
    """Rebuild the pytree `(model, args, kwargs)` with other leaves.

    An object that occurs several times among the arguments is again one object, with the leaves of its first place.
    """
    if not has_aliases(tree):
        return jax.tree.unflatten(jax.tree.structure(tree), leaves)
    given, made = iter(leaves), dict[int, Any]()

    def build(node: Any) -> Any:
        children = _children(node)
        if children is None:
            return next(given)
        parts = [build(child) for child in children]
        structure = jax.tree.structure(node, is_leaf=lambda value: value is not node)
        found = jax.tree.unflatten(structure, parts)
        return made.setdefault(id(node), found) if _is_mutable(node) else found

    return build(tree)


def has_aliases(tree: Any) -> bool:
    """True if a mutable object occurs more than once among the arguments."""
    found = [id(node) for node in _nodes(tree[1:]) if _is_mutable(node)]
    return len(set(found)) < len(found)


def _children(node: Any) -> list[Any] | None:
    """Return the children of a node; None for a leaf."""
    if jax.tree.structure(node) == _LEAF:
        return None
    return list(jax.tree.leaves(node, is_leaf=lambda value: value is not node))


_LEAF = jax.tree.structure(0)


def _nodes(tree: Any) -> Iterator[Any]:
    children = _children(tree)
    if children is not None:
        yield tree
        for child in children:
            yield from _nodes(child)


def _is_mutable(node: Any) -> bool:
    return node is not None and not isinstance(node, tuple | eqx.Module)
