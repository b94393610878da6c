"""Detect whether values that a function captures have changed since it was traced.

`jax.jit` assumes that a function always computes the same. If a model is trained in place, a list has grown, or a
global name is bound to other parameters, it would run the old program. Therefore a trace is cached together with the
captured values, by identity, and not cached at all if one of them is mutable.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from scanify.rolling.arguments import value_key

_PLAIN = (str, bytes, bool, int, float, complex, type(None), type(Ellipsis), range, slice, np.dtype, np.generic)
_NAMED = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc, enum.Enum)


class Captured:
    """The captured values of functions and other objects at one time. Equal if nothing has changed."""

    def __init__(self, objects: list[Any], equal: list[Any]) -> None:
        self._objects = objects  # kept alive, so that no other object gets their id
        self._key = (*map(id, objects), *equal)

    @classmethod
    def by(cls, values: Sequence[Any]) -> Captured | None:
        """Collect the captured values; None if one of them may be mutated unnoticed."""
        objects: list[Any] = []
        equal: list[Any] = []
        waiting, known = list(values), set[int]()
        while waiting:
            value = waiting.pop()
            if id(value) in known:
                continue
            known.add(id(value))
            if isinstance(value, _PLAIN):
                equal.append(value_key(value))
                continue
            objects.append(value)
            wrapped = getattr(value, "__wrapped__", None)
            if isinstance(value, types.FunctionType):
                waiting += [] if _is_library(value) else _read_by(value)
            elif isinstance(value, functools.partial | types.MethodType):
                waiting += _parts(value)
            elif isinstance(wrapped, types.FunctionType):
                waiting.append(wrapped)  # `jax.jit` and other wrappers
            elif not _lasts(value):
                leaves, treedef = jax.tree.flatten(value)
                if len(leaves) == 1 and leaves[0] is value:
                    return None
                equal.append(treedef)
                waiting += leaves
        return cls(objects, equal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Captured) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _lasts(value: Any) -> bool:
    """True if an object is immutable: a number, a name, an array, an object of jax."""
    if isinstance(value, jax.core.Tracer):
        return False  # from another trace
    if isinstance(value, (jax.Array, *_PLAIN, *_NAMED)):
        return True
    if isinstance(value, tuple | frozenset) and not hasattr(value, "_fields"):
        return all(map(_lasts, value))
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and not isinstance(value, eqx.Module):
        return all(_lasts(getattr(value, each.name, None)) for each in dataclasses.fields(value))
    return type(value).__module__.split(".")[0] in ("jax", "jaxlib")


def _parts(value: functools.partial[Any] | types.MethodType) -> list[Any]:
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    return [value.func, *value.args, *value.keywords.values()]


def _read_by(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of a function's free names and defaults."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield None  # not defined yet
    names = function.__globals__
    for name in _names(function.__code__):
        if name in names:
            yield names[name]
        elif not hasattr(builtins, name):
            yield None


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


_LIBRARIES = tuple(str(Path(path).parent) for path in (jax.__file__, eqx.__file__))


def _is_library(function: types.FunctionType) -> bool:
    file = function.__code__.co_filename
    return file.startswith(_LIBRARIES) or "site-packages" in file
