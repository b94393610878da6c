"""Cheap keys of pytrees, to find candidates for equality among many."""

import dataclasses
import functools
from collections.abc import Callable, Hashable
from typing import Any

import equinox as eqx
import jax

from scanify.nn.trees.leaves import aval, has_aval, is_number, varying


def outline(tree: Any) -> Hashable:
    """Return a key, equal for pytrees without a `first_difference`: classes, shapes, dtypes, numbers and texts.

    It includes static fields that are cheap to compare. So among many layers that differ in a field (an index, a name)
    each is compared with few others.
    """
    found: list[Any] = []
    _walk(tree, found)
    return tuple(found)


def _walk(node: Any, found: list[Any]) -> None:
    if isinstance(node, eqx.Module):
        kind: Any = type(node)
        found.append(kind)
        values: dict[str, Any] = object.__getattribute__(node, "__dict__")
        for name, static in static_fields(kind).items():
            if name not in values:
                found.append(None)
            elif static:
                found.append(_static(values[name]))
            else:
                _walk(values[name], found)
    elif has_aval(node):
        found.append((*aval(node), varying(node)))
    elif type(node) in (list, tuple):
        found.append((type(node), len(node)))
        for child in node:
            _walk(child, found)
    else:
        _walk_other(node, found)


def _walk_other(node: Any, found: list[Any]) -> None:
    level = jax.tree_util.default_registry.flatten_one_level(node)
    if level is None:
        found.append((type(node), repr(node) if is_number(node) or isinstance(node, str) else None))
        return
    children = list(level[0])
    found.append((type(node), len(children)))
    for child in children:
        _walk(child, found)


@functools.lru_cache(maxsize=1024)
def static_fields(kind: Any) -> dict[str, bool]:
    """Return the fields of a module's class, and whether each is static."""
    return {field.name: bool(field.metadata.get("static", False)) for field in dataclasses.fields(kind)}


def _static(value: Any) -> Any:
    tell = _TOLD.get(type(value))
    return type(value) if tell is None else (type(value), tell(value))


# Mutable values have no key: a list that layers share may grow from the first layer to the last.
_TOLD: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((bool, int, float, complex, str, bytes, type(None)), repr),
    tuple: lambda value: tuple(map(_static, value)),
}
