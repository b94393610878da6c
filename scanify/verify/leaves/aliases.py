"""A list that a call is given twice is one list: what is written to it in one place is read in the other.

A pytree does not say so, and what is built from its leaves anew has two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import equinox as eqx
import jax


def rebuilt(tree: Any, leaves: Sequence[Any]) -> Any:
    """The pytree `(model, args, kwargs)` with other leaves.

    What was one object among the arguments is one again, with the leaves of where it stands first.
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
    """Whether something that can be written to stands among the arguments more than once."""
    found = [id(node) for node in _nodes(tree[1:]) if _is_mutable(node)]
    return len(set(found)) < len(found)


def _children(node: Any) -> list[Any] | None:
    """What is right below a node; None for a leaf."""
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
