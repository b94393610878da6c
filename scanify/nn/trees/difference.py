"""The first place where two pytrees differ in anything but the values of their arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np

from scanify.nn.trees.leaves import aval, aval_text, has_aval, same_value
from scanify.nn.trees.outline import static_fields


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two values at the same key path of two trees."""

    path: str
    one: Any
    other: Any

    def __str__(self) -> str:
        """Return `float32[3] and float32[4]`, with their types if their texts are the same."""
        one, other = self.texts()
        return f"{one} and {other}"

    def texts(self) -> tuple[str, str]:
        """Describe both values."""
        if type(self.one) is object and type(self.other) is object:  # equinox marks the entries of a State so
            return "a marker that was made for one layer", "one that was made for another"
        one, other = aval_text(self.one), aval_text(self.other)
        if one != other:
            return one, other
        if has_aval(self.one):
            return _values(self.one, self.other)
        if type(self.one) is type(self.other) and one.endswith("...") and repr(self.one) != repr(self.other):
            return _where_texts_differ(repr(self.one), repr(self.other))
        return f"{one} ({_name(self.one)})", f"{other} ({_name(self.other)})"


def _values(one: Any, other: Any) -> tuple[str, str]:
    """Describe two arrays of one type by the first value that differs."""
    text = aval_text(one)
    if any(isinstance(array, jax.core.Tracer | jax.ShapeDtypeStruct) for array in (one, other)):
        return text, f"{text} with other values, in a static field"
    mine, theirs = np.asarray(one), np.asarray(other)
    places = np.argwhere(~((mine == theirs) | ((mine != mine) & (theirs != theirs))))
    if not len(places):
        return text, f"{text} with other values, in a static field"
    at = tuple(int(index) for index in places[0])
    return f"{text} with {mine[at]} at {list(at)}", f"with {theirs[at]} there, in a static field"


def _where_texts_differ(one: str, other: str) -> tuple[str, str]:
    """Return both texts from shortly before their first difference: their beginnings are the same."""
    if " object at 0x" in one:  # the address says nothing
        return one, other
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, at - 10)
    shown = [f"...{text[start : at + 40]}{'...' if len(text) > at + 40 else ''}" for text in (one, other)]
    return shown[0], shown[1]


def first_difference(one: Any, other: Any, *, weak: bool = True) -> Difference | None:
    """Return the first difference in structure, static fields, non-array leaves, shapes, dtypes and weak types.

    Static fields are compared one by one and not by `PyTreeDef.__eq__`, for which 1, 1.0 and True are equal and which
    raises for arrays. `weak=False` ignores weak types.
    """
    return _walk(one, other, "", weak)


def _walk(one: Any, other: Any, path: str, weak: bool) -> Difference | None:
    if one is other:
        return None
    here = Difference(path, one, other)
    if has_aval(one) and has_aval(other):
        count = 3 if weak else 2
        return None if aval(one)[:count] == aval(other)[:count] else here
    if has_aval(one) or has_aval(other) or type(one) is not type(other):
        return here
    if isinstance(one, eqx.Module):
        return _walk_module(one, other, path, weak)
    nodes = [jax.tree_util.default_registry.flatten_one_level_with_keys(tree) for tree in (one, other)]
    if nodes[0] is None or nodes[1] is None:
        return None if same_value(one, other) else here
    children = [list(node[0]) for node in nodes]
    if [key for key, _ in children[0]] != [key for key, _ in children[1]] or not same_value(nodes[0][1], nodes[1][1]):
        return here
    for (key, mine), (_, theirs) in zip(*children, strict=True):
        found = _walk(mine, theirs, f"{path}{key}", weak)
        if found is not None:
            return found
    return None


def _walk_module(one: Any, other: Any, path: str, weak: bool) -> Difference | None:
    kind: Any = type(one)
    fields, others = static_fields(kind), [object.__getattribute__(each, "__dict__") for each in (one, other)]
    for name in dict.fromkeys([*others[0], *others[1]]):
        mine, theirs = (values.get(name, _UNSET) for values in others)
        static = fields.get(name, False) or name.startswith("__")  # such as a wrapped function's name and doc
        if not static:
            found = _walk(mine, theirs, f"{path}.{name}", weak)
        else:
            found = None if same_value(mine, theirs) else _static(mine, theirs, f"{path}.{name}")
        if found is not None:
            return found
    return None


def _static(one: Any, other: Any, path: str) -> Difference:
    """Find the first difference inside two static values that are known to differ."""
    for step, mine, theirs in _parts(one, other):
        if not same_value(mine, theirs):
            return _static(mine, theirs, f"{path}{step}")
    return Difference(path, one, other)


def _parts(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if type(one) is not type(other):
        return
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            yield f".{field.name}", getattr(one, field.name, _UNSET), getattr(other, field.name, _UNSET)
    elif isinstance(one, list | tuple) and len(one) == len(other):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield f"[{index}]", mine, theirs
    elif isinstance(one, dict) and list(one) == list(other):
        for key, mine in one.items():
            yield f"[{key!r}]", mine, other[key]


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


class _Unset:
    def __repr__(self) -> str:
        return "not set"


_UNSET = _Unset()
