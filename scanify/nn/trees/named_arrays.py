"""The arrays of a module under their names, and nothing else of it."""

from collections.abc import Sequence
from typing import Any

import jax


@jax.tree_util.register_pytree_with_keys_class
class NamedArrays:
    """Arrays at their key paths in a module: `named.linear.weight`, `named.layers[0].weight`.

    It is not a module of that class with placeholders for other leaves: code that looks for modules with a certain
    field and sets it, such as `equinox.nn.inference_mode`, would find two of each.
    """

    def __init__(self, keys: tuple[Any, ...], children: Sequence[Any]) -> None:
        self._keys = keys
        self._children = tuple(children)

    @classmethod
    def of(cls, paths: Sequence[tuple[Any, ...]], arrays: Sequence[Any]) -> "NamedArrays":
        """Build it from arrays with their key paths, in the order of a pytree.

        If paths do not distinguish the arrays, as with a node that gives its children one key, they are numbered.
        """
        if len(set(paths)) < len(paths) or not all(paths):
            return cls(tuple(map(jax.tree_util.SequenceKey, range(len(arrays)))), arrays)
        return cls._nested(list(zip(paths, arrays, strict=True)))

    @classmethod
    def _nested(cls, named: Sequence[tuple[tuple[Any, ...], Any]]) -> "NamedArrays":
        inner: dict[Any, list[tuple[tuple[Any, ...], Any]]] = {}
        for path, array in named:
            inner.setdefault(path[0], []).append((path[1:], array))
        children = [part[0][1] if not part[0][0] else cls._nested(part) for part in inner.values()]
        return cls(tuple(inner), children)

    def entries(self) -> list[Any]:
        """Return the value in place of each array, in order: anything is possible once a tree has been mapped."""
        found: list[Any] = []
        for child in self._children:
            found += child.entries() if isinstance(child, NamedArrays) else [child]
        return found

    def __getattr__(self, name: str) -> Any:
        if name in ("_keys", "_children") or name.startswith("__"):  # `copy` looks attributes up before there are any
            raise AttributeError(name)
        return self._find(jax.tree_util.GetAttrKey(name), AttributeError(name))

    def __getitem__(self, key: Any) -> Any:
        index = jax.tree_util.SequenceKey(key) if isinstance(key, int) else jax.tree_util.DictKey(key)
        return self._find(index, KeyError(key))

    def _find(self, key: Any, missing: Exception) -> Any:
        if key not in self._keys:
            raise missing
        return self._children[self._keys.index(key)]

    def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        return tuple(zip(self._keys, self._children, strict=True)), self._keys

    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return self._children, self._keys

    @classmethod
    def tree_unflatten(cls, keys: tuple[Any, ...], children: Sequence[Any]) -> "NamedArrays":
        return cls(keys, children)

    def __repr__(self) -> str:
        named = jax.tree_util.tree_flatten_with_path(self)[0]
        return f"NamedArrays({', '.join(f'{jax.tree_util.keystr(path)}={array!r}' for path, array in named)})"
