"""Open returned objects that hold arrays and are not pytrees, such as closures and objects with attributes.

The arrays inside are then compared like any other output. So are the attributes of a pytree node that its flattening
omits, because callers of the model can read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax

from scanify.verify.leaves.correspond import one_level
from scanify.verify.objects.mutable import attributes
from scanify.verify.objects.parts import parts
from scanify.verify.objects.statics import Code
from scanify.verify.values.arrays import is_traced


@jax.tree_util.register_pytree_with_keys_class
@dataclass(frozen=True, eq=False)
class Held:
    """The parts of a function or an object of this type, by name."""

    kind: str
    parts: dict[str, Any]

    def tree_flatten_with_keys(self) -> tuple[list[tuple[Any, Any]], tuple[str, tuple[str, ...]]]:
        children = [(jax.tree_util.GetAttrKey(name), part) for name, part in self.parts.items()]
        return children, (self.kind, tuple(self.parts))

    @classmethod
    def tree_unflatten(cls, aux: tuple[str, tuple[str, ...]], children: Any) -> Held:
        return cls(aux[0], dict(zip(aux[1], children, strict=True)))


def opened(tree: Any) -> Any:
    """Replace leaves that hold arrays, and nodes that hold more than their pytree, by `Held`."""
    return _mapped(tree, {})


def _mapped(tree: Any, seen: dict[int, Any]) -> Any:
    if type(tree) is dict:  # jax would sort its keys
        return {key: _mapped(value, seen) for key, value in tree.items()}

    def opened(leaf: Any) -> Any:
        return _mapped(leaf, seen) if type(leaf) is dict else _opened(leaf, seen)

    return jax.tree.map(opened, tree, is_leaf=lambda node: type(node) is dict or bool(_beside(node)))


def _opened(value: Any, seen: dict[int, Any]) -> Any:
    """Open one value. `seen` are objects that are being opened, and those without arrays."""
    if is_traced(value) or id(value) in seen:
        return value
    beside = _beside(value)
    parts = beside or _parts(value)
    if not parts:
        return value
    seen[id(value)] = value
    found = {name: _mapped(part, seen) for name, part in parts.items()}
    if not beside and not any(map(is_traced, jax.tree.leaves(found))):
        return value
    del seen[id(value)]
    return Held(type(value).__qualname__, found)


def _beside(value: Any) -> dict[str, Any] | None:
    """Return the parts of a pytree node with attributes that its flattening omits; None without such attributes."""
    kept = None if isinstance(value, dict | list | tuple) else attributes(value)
    node = one_level(value) if kept else None
    if not kept or node is None:
        return None
    children, aux = [child for _, child in node[0]], node[1]
    shown = set(map(id, _elements([*children, aux])))
    beside = {name: held for name, held in kept.items() if id(held) not in shown and held is not None}
    if not beside:
        return None
    return {"class": type(value), "children": children, "aux": aux, **{f".{name}": v for name, v in beside.items()}}


def _elements(value: Any, depth: int = 4) -> Iterator[Any]:
    yield value
    if depth and isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _elements(each, depth - 1)


def _parts(value: Any) -> dict[str, Any]:
    found = None if isinstance(value, type | Code) else parts(value)
    if found is None or not found.inner:
        return {}
    inner = {name.lstrip("."): held for name, held in found.inner.items()}
    return {"class": type(value), "plain": found.plain, **inner}
