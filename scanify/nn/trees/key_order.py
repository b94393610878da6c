"""Dicts in a carry: a loop keeps the order of their keys, and jax sorts the keys when it flattens them.

So a sequence of layers carries them with their order, and detects layers that change it; and a stack, which has one
program for all layers, checks whether the order that its layers return makes any difference to them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax

from scanify.nn.programs.skeleton import const_key, skeleton
from scanify.nn.scans.carry import split


@jax.tree_util.register_pytree_with_keys_class
@dataclass(frozen=True)
class Ordered:
    """A dict whose order is part of its structure; its values are flattened in jax's order."""

    entries: dict[Any, Any]

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        keys = _sorted(self.entries)
        return [(jax.tree_util.DictKey(key), self.entries[key]) for key in keys], tuple(self.entries)

    @classmethod
    def tree_unflatten(cls, order: tuple[Any, ...], values: Any) -> "Ordered":
        found = dict(zip(_sorted(order), values, strict=True))
        return cls({key: found[key] for key in order})


def _sorted(keys: Any) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:  # jax cannot flatten such a dict; with its order it can
        return list(keys)


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True)
class Opened:
    """A node of a custom class with a dict in it, flattened: some classes do not accept an `Ordered` for a dict."""

    children: tuple[Any, ...]
    treedef: Any

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.children, self.treedef

    @classmethod
    def tree_unflatten(cls, treedef: Any, children: Any) -> "Opened":
        return cls(tuple(children), treedef)


def ordered(tree: Any) -> Any:
    """Return the pytree with `Ordered` for each dict; the same object without dicts."""
    if not _holds(tree, dict):
        return tree
    if type(tree) is dict:
        return Ordered({key: ordered(value) for key, value in tree.items()})
    found, treedef = jax.tree.flatten(tree, is_leaf=lambda node: node is not tree)
    children = tuple(map(ordered, found))
    takes_anything = isinstance(tree, tuple | list | eqx.Module)
    return treedef.unflatten(children) if takes_anything else Opened(children, treedef)


def plain(tree: Any) -> Any:
    """Return the original pytree."""
    if not _holds(tree, Ordered | Opened):
        return tree

    def disclose(node: Any) -> Any:
        if type(node) is Opened:
            return node.treedef.unflatten(map(plain, node.children))
        return {key: plain(value) for key, value in node.entries.items()} if type(node) is Ordered else node

    return jax.tree.map(disclose, tree, is_leaf=lambda node: type(node) in (Ordered, Opened))


def _holds(tree: Any, kind: Any) -> bool:
    """True if a pytree has nodes of exactly this type, not of a subclass."""

    def is_one(node: Any) -> bool:
        return isinstance(node, kind) and type(node) in (dict, Ordered, Opened)

    return any(map(is_one, jax.tree.leaves(tree, is_leaf=is_one)))


class KeyOrder:
    """The order of the keys of the dicts in a carry: as the first layer takes it and as a layer returns it.

    All layers are traced as one, with the order of the first, so `check` tests whether it makes a difference.
    """

    def __init__(self, init: Any) -> None:
        self._before = self._after = jax.tree.structure(ordered(init)) if _holds(init, dict) else None

    def given(self, carry: Any) -> Any:
        """Return the carry in the order that a layer takes."""
        return in_order(carry, self._before)

    def taken(self, carry: Any) -> Any:
        """Return the carry of a layer, and record its order."""
        if self._before is not None:
            self._after = jax.tree.structure(ordered(carry))
        return carry

    def last(self, carry: Any) -> Any:
        """Return the carry in the order that the last layer returns."""
        return in_order(carry, self._after)

    def check(self, body: Callable[[Any, Any], tuple[Any, Any]], init: Any, x: Any) -> None:
        """Raise TypeError if layers change the order and compute something else for it. `x` is the x of one layer."""
        if self._before is None or self._before == self._after:
            return
        first, self._before = _program(body, init, x), self._after
        if first != _program(body, init, x) or self._after != self._before:
            raise TypeError(
                "expected layers to hand on a dict with its keys in the order that they were given; they change the "
                "order and compute something else for it, as a loop may and a scan cannot. Give the first layer the "
                "order that the layers give, or hold the layers in a BlockSeq"
            )


def in_order(tree: Any, order: Any) -> Any:
    """Order the keys of dicts in a pytree like an `ordered` one of structure `order`; with None they are kept."""
    if order is None:
        return tree
    leaves, treedef = jax.tree.flatten(ordered(tree))
    return plain(jax.tree.unflatten(order, leaves)) if treedef.num_leaves == order.num_leaves else tree


def _program(body: Callable[[Any, Any], tuple[Any, Any]], init: Any, x: Any) -> Any:
    """Return the computation of a layer in comparable form."""
    arrays, static = split(init)

    def flat(carry: Any, x: Any) -> list[Any]:
        leaves: list[Any] = jax.tree.leaves([split(part)[0] for part in body(eqx.combine(carry, static), x)])
        return leaves

    closed = jax.make_jaxpr(flat)(arrays, x)
    bones = skeleton(closed.jaxpr, tuple(closed.consts))
    arrays = [const_key(closed.consts[at]) for at in bones.captured]
    return bones.key, [(one.place, one.bits) for one in bones.constants], arrays
