"""The first place where two pytrees differ in anything but the values of their arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax

from scanify.nn.leaves import aval, aval_text, has_aval, same_value


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two values at the same key path of two trees, as they are."""

    path: str
    one: Any
    other: Any

    def __str__(self) -> str:
        """`float32[3] and float32[4]`, told apart by their types where their texts are the same."""
        one, other = self.texts()
        return f"{one} and {other}"

    def texts(self) -> tuple[str, str]:
        """Both values in words."""
        one, other = aval_text(self.one), aval_text(self.other)
        if one == other:
            if has_aval(self.one):
                return f"{one}", f"{other} with other values, in a static field"
            one, other = (f"{text} ({_name(value)})" for text, value in ((one, self.one), (other, self.other)))
        return one, other


def first_difference(one: Any, other: Any, *, weak: bool = True) -> Difference | None:
    """The first difference in structure, static fields, leaves that are no arrays, shapes, dtypes and weak types.

    Static fields are compared one by one and not by `PyTreeDef.__eq__`, for which 1, 1.0 and True are equal and which
    raises for arrays. `weak=False` leaves weak types out.
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
    static = {field.name for field in dataclasses.fields(one) if field.metadata.get("static", False)}
    static |= {name for name in _names(one, other) if name.startswith("__")}  # a wrapped function's name and doc
    for name in _names(one, other):
        mine, theirs = vars(one).get(name, _UNSET), vars(other).get(name, _UNSET)
        if name not in static:
            found = _walk(mine, theirs, f"{path}.{name}", weak)
        else:
            found = None if same_value(mine, theirs) else _static(mine, theirs, f"{path}.{name}")
        if found is not None:
            return found
    return None


def _static(one: Any, other: Any, path: str) -> Difference:
    """The first difference inside of two static values that are known to differ."""
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


def _names(one: Any, other: Any) -> list[str]:
    return list(dict.fromkeys([*vars(one), *vars(other)]))


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


class _Unset:
    def __repr__(self) -> str:
        return "not set"


_UNSET = _Unset()
