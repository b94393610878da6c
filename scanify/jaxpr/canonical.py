"""Parameters of primitives as keys that are equal only where the parameters mean the same.

Python's own equality will not do: True == 1 == 1.0, 0.0 == -0.0, and a NaN is not itself. Every value is tagged with
its type, floats go by their bits, arrays by dtype, shape and bytes. Functions are equal if they are the same object,
or run the same code over the same globals with equal captured values. What is none of these raises `NotUnderstood`.
"""

import dataclasses
import enum
import functools
import struct
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np


class NotUnderstood(Exception):
    """A parameter whose meaning is not known: nothing may be proved through it."""


class Canonical:
    """Makes keys. `jaxpr_key` says what a jaxpr in a parameter computes; `alive` keeps what is compared by identity.

    An identity is only good for as long as the object lives, so every object whose `id` enters a key is kept.
    """

    def __init__(self, jaxpr_key: Callable[[Any], Hashable], alive: list[Any]) -> None:
        self._jaxpr_key = jaxpr_key
        self._alive = alive
        self._inside: list[int] = []
        self._captured = 0

    def key(self, value: Any) -> Hashable:
        """A hashable key, equal for two values only if they mean the same.

        Raises:
            NotUnderstood: no rule here knows the value's type.
        """
        if id(value) in self._inside:
            return ("cycle", len(self._inside) - self._inside.index(id(value)))
        self._inside.append(id(value))
        try:
            return self._key(value)
        finally:
            self._inside.pop()

    def _key(self, value: Any) -> Hashable:
        if value is None or value is Ellipsis or isinstance(value, str | bytes):
            return (type(value).__name__, value)
        if isinstance(value, enum.Enum):
            return ("enum", self._same(type(value)), value.name)
        if isinstance(value, bool | int):
            return (type(value).__name__, value)
        if isinstance(value, float | complex) and not isinstance(value, np.generic):
            parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
            return (type(value).__name__, struct.pack(f"{len(parts)}d", *parts))
        if isinstance(value, np.dtype):
            return ("dtype", value)
        if isinstance(value, np.generic | np.ndarray):
            if value.dtype.hasobject:
                raise NotUnderstood(f"an array of Python objects ({type(value).__name__})")
            if self._captured and isinstance(value, np.ndarray):
                return self._same(value)
            return ("array", value.dtype, value.shape, value.tobytes())
        return self._container(value)

    def _container(self, value: Any) -> Hashable:
        if self._captured and isinstance(value, list | dict | set):
            # Two functions that write to two lists do not do the same, however equal the lists.
            return self._same(value)
        if isinstance(value, tuple | list):
            return (self._same(type(value)), tuple(self.key(item) for item in value))
        if isinstance(value, dict | types.MappingProxyType):
            return ("dict", tuple((self.key(k), self.key(v)) for k, v in value.items()))
        if isinstance(value, set | frozenset):
            return ("set", frozenset(self.key(item) for item in value))
        if isinstance(value, slice):
            return ("slice", self.key((value.start, value.stop, value.step)))
        if hasattr(value, "eqns") or hasattr(getattr(value, "jaxpr", None), "eqns"):
            return ("jaxpr", self._jaxpr_key(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and _from_jax(type(value)):
            fields = tuple((f.name, self.key(getattr(value, f.name))) for f in dataclasses.fields(value))
            return (self._same(type(value)), fields)
        if isinstance(value, type):
            return self._same(value)
        if callable(value):
            return self._callable(value)
        return self._other(value)

    def _callable(self, value: Any) -> Hashable:
        if isinstance(value, functools.partial):
            return ("partial", self.key(value.func), self.key(value.args), self.key(value.keywords))
        if isinstance(value, types.MethodType):
            return ("method", self.key(value.__func__), self.key(value.__self__))
        if isinstance(value, types.FunctionType):
            cells = tuple(cell.cell_contents for cell in value.__closure__ or ())
            where = (self._same(value.__code__), self._same(value.__globals__))
            self._captured += 1
            try:
                bound = tuple(self.key(part) for part in (value.__defaults__, cells))
                named = tuple((k, self.key(v)) for k, v in (value.__kwdefaults__ or {}).items())
            finally:
                self._captured -= 1
            return ("function", where, bound, named)
        return self._same(value)

    def _other(self, value: Any) -> Hashable:
        """Objects of jax that define their own equality are trusted with it; any other is equal only to itself."""
        kind = type(value)
        if _from_jax(kind) and "__eq__" in _own(kind) and "__hash__" in _own(kind):
            try:
                hash(value)
            except TypeError as error:
                raise NotUnderstood(f"a parameter of type {kind.__module__}.{kind.__qualname__}") from error
            return ("equal", self._same(kind), value)
        return self._same(value)

    def _same(self, value: Any) -> Hashable:
        self._alive.append(value)
        return ("identity", id(value))


def _own(kind: type) -> set[str]:
    """The names that a class or one of its bases other than `object` defines."""
    return {name for base in kind.__mro__ if base is not object for name in vars(base)}


def _from_jax(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("jax", "jaxlib")
