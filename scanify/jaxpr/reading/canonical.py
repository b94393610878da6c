"""Parameters of primitives as keys that are equal only where the parameters mean the same.

Python's own equality will not do: True == 1 == 1.0, 0.0 == -0.0, and a NaN is not itself. Every value is tagged with
its type, floats go by their bits, arrays by dtype, shape and bytes, pytrees by the key of what their nodes keep.
Functions are equal if they are the same object, or run the same code over the same globals with equal captured values
and keep nothing from one call to the next. What is none of these raises `NotUnderstood`.
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
    """A parameter whose meaning is not known: nothing may be proved through it."""


# Exact types: a subclass may mean something else by the same number.
_PLAIN = frozenset({str, bytes, bool, int})


class Alike:
    """Functions of two versions that run the same code over the same: each is spelled as the first of its kind.

    `same` says whether two functions do, whatever they have captured.
    """

    def __init__(self, same: Callable[[types.FunctionType, types.FunctionType], bool]) -> None:
        self._same = same
        self._known: dict[Hashable, list[types.FunctionType]] = {}

    def first(self, function: types.FunctionType) -> types.FunctionType:
        """The first function that was asked for and is the same; itself where there is none."""
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
    """Makes keys. `jaxpr_key` says what a jaxpr in a parameter computes; `alive` keeps what is compared by identity.
    `alike` knows functions of two versions that are the same.

    An identity is only good for as long as the object lives, so every object whose `id` enters a key is kept.
    """

    def __init__(self, jaxpr_key: Callable[[Any], Hashable], alive: list[Any], alike: "Alike | None" = None) -> None:
        self._jaxpr_key = jaxpr_key
        self._alive = alive
        self._alike = alike
        self._inside: list[int] = []
        self._captured = 0

    def key(self, value: Any) -> Hashable:
        """A hashable key, equal for two values only if they mean the same.

        Raises:
            NotUnderstood: no rule here knows the value's type.
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
        """jax compares what the nodes of a tree keep by `==`, for which a static field 1 is True."""
        data = tree.node_data()
        if data is None:
            return "leaf"
        kind, kept = data
        if isinstance(kept, list):
            kept = tuple(kept)  # the keys of a dict, made anew for each tree
        return ("tree", self._same(kind), self.key(kept), tuple(self._tree(child) for child in tree.children()))

    def _container(self, value: Any) -> Hashable:
        if type(value) is types.FunctionType:  # as most of what comes here: it is none of the others
            return self._callable(value)
        if self._captured and _may_be_written(value):
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
        if any(base.__name__ == "HiPrim" and _from_jax(base) for base in type(value).__mro__) and _from_jax(
            type(value)
        ):
            # A primitive of jax's that is an object, which can be called, with what it is given beside arrays.
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
        """What a function captured. A name that another function writes to is a place and no value."""
        keys = []
        written = _written_elsewhere(function)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                keys.append(self._same(cell) if name in written else self._captured_by(function, cell.cell_contents))
            except ValueError as error:
                raise NotUnderstood(f"a function that is not defined yet ({function.__qualname__})") from error
        return tuple(keys)

    def _captured_by(self, function: types.FunctionType, value: Any) -> Hashable:
        """`jax.debug.callback` keeps those arguments that are no arrays in a dict that it makes and then only reads."""
        if type(value) is dict and function.__module__ == "jax._src.debugging":
            return ("dict", self._bound(tuple(value.items())))
        return self._bound(value)

    def _bound(self, value: Any) -> Hashable:
        """What a function has been given to keep: where that can be written to, it is itself and no equal."""
        self._captured += 1
        try:
            return self.key(value)
        finally:
            self._captured -= 1

    def _other(self, value: Any) -> Hashable:
        """Some objects of jax are trusted with their own equality; any other object is equal only to itself."""
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


# Modules of jax whose objects are equal where they mean the same: avals and dtypes, meshes and shardings, effects. Not
# its wrappers of functions: `jax._src.util.HashablePartial` is equal to another of the same code, whatever it captured.
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


# What writes to a name that a function closes over, or to an attribute, which a function has too.
_WRITES = {"STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR"}
_WRITERS = {"setattr", "delattr", "vars", "__dict__", "__setattr__"}


def keeps_state(function: types.FunctionType) -> bool:
    """Whether a call may change what the next call of the same function does, and of no other with equal contents.

    Such is a callback that counts its calls in a name of the function around it, or in an attribute of itself.
    """
    return bool(function.__dict__) or _writes(function.__code__)


@functools.lru_cache(maxsize=4096)
def _writes(whole: types.CodeType) -> bool:
    """Whether a function of this code writes to a name that it closes over, or to an attribute."""
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
    """The most references that a cell of the function has."""
    return max(map(sys.getrefcount, function.__closure__ or ()), default=0)


def _closed(value: Any) -> Any:
    return lambda: value


# What `_references` counts of a cell that one function alone holds.
_ALONE = _references(_closed(None))


def _written_elsewhere(function: types.FunctionType) -> frozenset[str]:
    """The names a function closes over to which another function may write, one that was made beside it or in it.

    It must hold the same cell, and say `nonlocal` in the same file. A file that cannot be read may say anything.
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
    """The names that a class or one of its bases other than `object` defines."""
    return {name for base in kind.__mro__ if base is not object for name in vars(base)}


def _from_jax(kind: type) -> bool:
    return kind.__module__.split(".")[0] in ("jax", "jaxlib")
