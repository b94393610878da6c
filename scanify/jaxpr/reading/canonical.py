"""Convert parameters of primitives to keys that are equal only if the parameters mean the same.

Python's own equality is not suitable: True == 1 == 1.0, 0.0 == -0.0, and a NaN is not equal to itself. Every value is
tagged with its type; floats are compared by bits, arrays by dtype, shape and bytes, pytrees by the key of their nodes'
auxiliary data. Functions are equal if they are the same object, or run the same code with the same globals and equal
captured values, and keep no state between calls. For anything else, `NotUnderstood` is raised.
"""

import dataclasses
import dis
import enum
import functools
import linecache
import re
import struct
import sys
import types
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from scanify.jaxpr.reading.equinox_errors import messages


class NotUnderstood(Exception):
    """A parameter has an unknown meaning, so that nothing can be proved about its equation."""


# Exact types: a subclass may give the same number another meaning.
_PLAIN = frozenset({str, bytes, bool, int})


class Alike:
    """Identifies functions of two versions that run the same code: each is replaced by the first equal one.

    `same` compares two functions without their captured values.
    """

    def __init__(self, same: Callable[[types.FunctionType, types.FunctionType], bool]) -> None:
        self._same = same
        self._known: dict[Hashable, list[types.FunctionType]] = {}

    def first(self, function: types.FunctionType) -> types.FunctionType:
        """Return the first function seen that is the same, or else the function itself."""
        code = function.__code__
        known = self._known.setdefault((function.__qualname__, code.co_code), [])
        for each in known:
            if each.__code__ is code and each.__globals__ is function.__globals__:
                return each
        found = next((each for each in known if self._same(each, function)), function)
        if found is function:
            known.append(function)
        return found


class Canonical:
    """Creates keys. `jaxpr_key` returns a key for a jaxpr in a parameter; `alive` keeps objects compared by id alive.

    `alike` identifies equal functions of two versions. An id is unique only as long as the object lives, so every
    object whose id is part of a key is kept alive.
    """

    def __init__(self, jaxpr_key: Callable[[Any], Hashable], alive: list[Any], alike: "Alike | None" = None) -> None:
        self._jaxpr_key = jaxpr_key
        self._alive = alive
        self._alike = alike
        self._inside: list[int] = []
        self._captured = 0

    def key(self, value: Any) -> Hashable:
        """Return a hashable key, equal for two values only if they mean the same.

        Raises:
            NotUnderstood: no rule handles the value's type.
        """
        kind = type(value)
        if value is None or value is Ellipsis or kind in _PLAIN:
            return (kind.__name__, value)
        if id(value) in self._inside:
            return ("cycle", len(self._inside) - self._inside.index(id(value)))
        self._inside.append(id(value))
        try:
            return self._key(value)
        finally:
            self._inside.pop()

    def _key(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in (float, complex):
            parts = (value.real, value.imag) if kind is complex else (value,)
            return (kind.__name__, struct.pack(f"{len(parts)}d", *parts))
        if isinstance(value, enum.Enum):
            return ("enum", self._same(kind), value.name)
        if isinstance(value, np.dtype):
            return ("dtype", value)
        if isinstance(value, np.generic) or kind is np.ndarray:
            if value.dtype.hasobject:
                raise NotUnderstood(f"an array of Python objects ({kind.__name__})")
            if self._captured and kind is np.ndarray:
                return self._same(value)
            return ("array", value.dtype, value.shape, value.tobytes())
        if _from_jax(kind) and kind.__name__ == "PyTreeDef":
            return self._tree(value)
        return self._container(value)

    def _tree(self, tree: Any) -> Hashable:
        """Return the key of a tree. jax compares auxiliary data by `==`, for which 1 equals True."""
        data = tree.node_data()
        if data is None:
            return "leaf"
        kind, kept = data
        if isinstance(kept, list):
            kept = tuple(kept)  # the keys of a dict, as a new list for each tree
        return ("tree", self._same(kind), self.key(kept), tuple(self._tree(child) for child in tree.children()))

    def _container(self, value: Any) -> Hashable:
        if type(value) is types.FunctionType:  # the most frequent case
            return self._callable(value)
        if self._captured and _may_be_written(value):
            # Functions that modify two lists differ, even if the lists are equal.
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
        if any(base.__name__ == "HiPrim" and _from_jax(base) for base in type(value).__mro__) and _from_jax(
            type(value)
        ):
            # A primitive object of jax that can be called, with its parameters besides arrays.
            return ("primitive", self._same(type(value)), self.key(dict(sorted(vars(value).items()))))
        if callable(value):
            return self._callable(value)
        return self._other(value)

    def _callable(self, value: Any) -> Hashable:
        if isinstance(value, functools.partial) and type(value).__call__ is functools.partial.__call__:
            named = tuple(value.keywords.items())
            return ("partial", self.key(value.func), self._bound(value.args), self._bound(named))
        if isinstance(value, types.MethodType):
            return ("method", self.key(value.__func__), self._bound(value.__self__))
        said = messages(value) if isinstance(value, types.FunctionType) else None
        if said is not None:
            return ("raises", self._same(value.__code__), said)
        if not isinstance(value, types.FunctionType) or keeps_state(value):
            return self._same(value)
        first = value if self._alike is None else self._alike.first(value)
        where = (self._same(first.__code__), self._same(first.__globals__))
        named = tuple((value.__kwdefaults__ or {}).items())
        return ("function", where, self._bound(value.__defaults__), self._cells(value), self._bound(named))

    def _cells(self, function: types.FunctionType) -> Hashable:
        """Return the key of captured values. A name that another function assigns is compared by cell, not by value."""
        keys = []
        written = _written_elsewhere(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                keys.append(self._same(cell) if name in written else self._captured_by(function, cell.cell_contents))
            except ValueError as error:
                raise NotUnderstood(f"a function that is not defined yet ({function.__qualname__})") from error
        return tuple(keys)

    def _captured_by(self, function: types.FunctionType, value: Any) -> Hashable:
        """Handle `jax.debug.callback`, which stores its static arguments in a new dict that it only reads."""
        if type(value) is dict and function.__module__ == "jax._src.debugging":
            return ("dict", self._bound(tuple(value.items())))
        return self._bound(value)

    def _bound(self, value: Any) -> Hashable:
        """Return the key of a value stored by a function: mutable values are compared by id."""
        self._captured += 1
        try:
            return self.key(value)
        finally:
            self._captured -= 1

    def _other(self, value: Any) -> Hashable:
        """Return the key of an object: trusted objects of jax are compared by equality, others by id."""
        kind = type(value)
        if _is_trusted(kind) and "__eq__" in _own(kind) and "__hash__" in _own(kind):
            try:
                hash(value)
            except TypeError as error:
                raise NotUnderstood(f"a parameter of type {kind.__module__}.{kind.__qualname__}") from error
            return ("equal", self._same(kind), value)
        return self._same(value)

    def _same(self, value: Any) -> Hashable:
        self._alive.append(value)
        return ("identity", id(value))


# Modules of jax whose objects are equal only if they mean the same: avals, dtypes, meshes, shardings, effects. Wrappers
# of functions are excluded: `jax._src.util.HashablePartial` is equal to any other with the same code, whatever it
# captured.
_TRUSTED = (
    "jax._src.core",
    "jax._src.dtypes",
    "jax._src.effects",
    "jax._src.layout",
    "jax._src.lib",
    "jax._src.mesh",
    "jax._src.named_sharding",
    "jax._src.partition_spec",
    "jax._src.prng",
    "jax._src.sharding",
    "jax._src.state",
    "jax.sharding",
    "jaxlib",
)


def _is_trusted(kind: type) -> bool:
    return _from_jax(kind) and kind.__module__.startswith(_TRUSTED)


def _may_be_written(value: Any) -> bool:
    if isinstance(value, list | dict | set | types.MappingProxyType):
        return True
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and not parameters.frozen


# Instructions that assign a captured name or an attribute; functions have attributes as well.
_WRITES = {"STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR"}
_WRITERS = {"setattr", "delattr", "vars", "__dict__", "__setattr__"}


def keeps_state(function: types.FunctionType) -> bool:
    """True if a call of a function may change the result of its next call, but not of an equal function.

    An example is a callback that counts its calls in a captured name or in an attribute of itself.
    """
    return bool(function.__dict__) or _writes(function.__code__)


@functools.lru_cache(maxsize=4096)
def _writes(whole: types.CodeType) -> bool:
    """True if a function with this code assigns a captured name or an attribute."""
    free = set(whole.co_freevars)
    waiting = [whole]
    while free and waiting:
        code = waiting.pop()
        waiting += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        if not _WRITERS.isdisjoint(code.co_names):
            return True
        for step in dis.get_instructions(code):
            if step.opname in _WRITES and (step.opname.endswith("ATTR") or step.argval in free):
                return True
    return False


def _references(function: types.FunctionType) -> int:
    """Return the largest reference count among the cells of a function."""
    return max(map(sys.getrefcount, function.__closure__ or ()), default=0)


def _closed(value: Any) -> Any:
    return lambda: value


# The result of `_references` for a cell that belongs to one function only.
_ALONE = _references(_closed(None))


def _written_elsewhere(function: types.FunctionType) -> frozenset[str]:
    """Return the captured names that another function may assign.

    That function must share the cell and contain `nonlocal`, so it is in the same file. If the file cannot be read, all
    names are returned.
    """
    code = function.__code__
    if _references(function) <= _ALONE:
        return frozenset()
    lines = [line for line in linecache.getlines(code.co_filename, function.__globals__) if "nonlocal" in line]
    unread = not linecache.getlines(code.co_filename, function.__globals__)
    if unread or any(line.rstrip().endswith("\\") for line in lines):
        return frozenset(code.co_freevars)
    names = {word for line in lines for word in re.findall(r"\w+", line.split("nonlocal", 1)[1])}
    return frozenset(names & set(code.co_freevars))


def _own(kind: type) -> set[str]:
    """Return the names defined by a class or its bases other than `object`."""
    return {name for base in kind.__mro__ if base is not object for name in vars(base)}


def _from_jax(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("jax", "jaxlib")
