"""Modules of Flax NNX in the result of a case: their leaves represent them only if no two places hold one object."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import jax

from scanify.errors import ScanifyError


def check_nnx_objects(tree: Any) -> None:
    """Raise ScanifyError if a pytree holds an object of Flax NNX that its leaves do not rebuild.

    A variable in two places becomes two: a stream of random numbers that layers share would become one per layer.
    """
    nnx = sys.modules.get("flax.nnx")
    if nnx is None:
        return
    kinds = (nnx.Object, nnx.Variable)
    seen: dict[int, str] = {}
    for place, node in _objects(tree, kinds, ""):
        if jax.tree.structure(node) == _LEAF:
            raise ScanifyError(
                f"expected modules of Flax NNX that are pytrees, got {type(node).__name__} at {place}, which is none: "
                "verify with flax 0.12 or later"
            )
        if id(node) in seen:
            raise ScanifyError(
                "expected a model of Flax NNX that holds each variable and each module in one place, got one "
                f"{type(node).__name__} at {seen[id(node)]} and at {place}: built anew from its arrays it is two, so "
                "nothing could be said of it. Let each layer have its own, as `rngs.fork()` gives"
            )
        seen[id(node)] = place


_LEAF = jax.tree.structure(0)


def _objects(tree: Any, kinds: tuple[type, ...], place: str) -> Iterator[tuple[str, Any]]:
    """Yield the objects of these kinds in a pytree, each with its place, including nested ones."""

    def is_object(node: Any) -> bool:
        return isinstance(node, kinds) and node is not tree

    for path, node in jax.tree_util.tree_leaves_with_path(tree, is_leaf=is_object):
        if isinstance(node, kinds) and node is not tree:
            here = f"{place}{jax.tree_util.keystr(path)}"
            yield here, node
            yield from _objects(node, kinds, here)
