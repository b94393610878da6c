"""Parameters of primitives as keys that are equal only where the parameters mean the same.

Python's own equality will not do: True == 1 == 1.0, 0.0 == -0.0, and a NaN is not itself. Every value is tagged with
its type, floats go by their bits, arrays by dtype, shape and bytes. Functions are equal if they are the same object,
or run the same code over the same globals with equal captured values and keep nothing from one call to the next. What
is none of these raises `NotUnderstood`.
"""

import dataclasses
import dis
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
            named = tuple(value.keywords.items())
            return ("partial", self.key(value.func), self._bound(value.args), self._bound(named))
        if isinstance(value, types.MethodType):
            return ("method", self.key(value.__func__), self._bound(value.__self__))
        if not isinstance(value, types.FunctionType) or keeps_state(value):
            return self._same(value)
        try:
            cells = tuple(cell.cell_contents for cell in value.__closure__ or ())
        except ValueError as error:
            raise NotUnderstood(f"a function that is not defined yet ({value.__qualname__})") from error
        where = (self._same(value.__code__), self._same(value.__globals__))
        named = tuple((value.__kwdefaults__ or {}).items())
        return ("function", where, self._bound(value.__defaults__), self._bound(cells), self._bound(named))

    def _bound(self, value: Any) -> Hashable:
        """What a function has been given to keep: where that can be written to, it is itself and no equal."""
        self._captured += 1
        try:
            return self.key(value)
        finally:
            self._captured -= 1

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


# What writes to a name that a function closes over, or to an attribute, which a function has too.
_WRITES = {"STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR"}
_WRITERS = {"setattr", "delattr", "vars", "__dict__", "__setattr__"}


def keeps_state(function: types.FunctionType) -> bool:
    """Whether a call may change what the next call of the same function does, and of no other with equal contents.

    Such is a callback that counts its calls in a name of the function around it, or in an attribute of itself.
    """
    if function.__dict__:
        return True
    free = set(function.__code__.co_freevars)
    waiting = [function.__code__]
    while free and waiting:
        code = waiting.pop()
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        if not _WRITERS.isdisjoint(code.co_names):
            return True
        for step in dis.get_instructions(code):
            if step.opname in _WRITES and (step.opname.endswith("ATTR") or step.argval in free):
                return True
    return False


def _own(kind: type) -> set[str]:
    """The names that a class or one of its bases other than `object` defines."""
    return {name for base in kind.__mro__ if base is not object for name in vars(base)}


def _from_jax(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("jax", "jaxlib")
