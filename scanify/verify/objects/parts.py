"""The closed table of the parts of Python objects.

`parts` splits an object into values that are compared by `==` and into other objects. An object of a type that is not
in the table is not understood, and nothing is claimed about it.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import enum
import functools
import operator
import pathlib
import re
import struct
import sys
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from scanify.verify.objects.states import STATEFUL, state
from scanify.verify.objects.statics import Code, attributes, cell_contents, module_of, qualified
from scanify.verify.values.arrays import bits


class Parts(NamedTuple):
    """`plain`: texts, bytes and numbers, compared by `==`. `inner`: other objects, by their place in this one."""

    plain: tuple[Any, ...] = ()
    inner: dict[str, Any] = {}  # noqa: RUF012


@dataclass(frozen=True, eq=False)
class Opaque:
    """A placeholder for an object that is not understood; `text` names it."""

    text: str


Row = Callable[[Any], "Parts | None"]

_PARTS_OF_CODE = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_exceptiontable"),
    *("co_argcount", "co_kwonlyargcount", "co_posonlyargcount"),
)
# Packages with extensions, whose classes written in Python have Python functions or slots.
_EXTENSIONS = frozenset({*sys.stdlib_module_names, "numpy", "jaxlib", "ml_dtypes"})
_LRU: type = functools._lru_cache_wrapper
_DISPATCH: Any = functools.singledispatch(lambda value: value)


def parts(value: Any) -> Parts | None:
    """Split an object into its parts; None if its type is not understood.

    An object whose class derives from a type of the table has attributes besides. An object whose class and bases are
    all written in Python consists of its attributes.
    """
    mro = type(value).__mro__
    base = next(each for each in mro if each in ROWS)
    known = _WHOLE.get(base, ())
    above = [each for each in mro[: mro.index(base)] if each.__module__.partition(".")[0] not in known]
    if not all(map(_is_written_in_python, above)) or isinstance(value, jax.core.Tracer):
        return None
    found = ROWS[base](value) if base is not object or not above else Parts()
    if found is None or not above:
        return found
    return Parts(found.plain, {**found.inner, **{f".{name}": held for name, held in attributes(value).items()}})


def may_be_written(value: Any) -> bool:
    """True if an object is mutable, so that its other places matter."""
    if isinstance(value, _WRITABLE):
        return True
    frozen = getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False)
    return not frozen and next(each for each in type(value).__mro__ if each in ROWS) is object


def kind_in_words(value: Any) -> str:
    """Return a description: `an object of queue.SimpleQueue`, `the module settings`."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return f"the {type(value).__name__} {name}" if isinstance(name, str) else f"an object of {qualified(type(value))}"


def _is_written_in_python(kind: type) -> bool:
    by_statement = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, or by an extension
    root, functions = kind.__module__.partition(".")[0], (types.FunctionType, classmethod, staticmethod, property)
    own = vars(kind)
    written = root not in _EXTENSIONS or "__slots__" in own or any(isinstance(each, functions) for each in own.values())
    return kind is typing.Generic or (bool(kind.__flags__ & by_statement) and written)


def _by(*names: str) -> Row:
    """Return a row for objects that consist of these attributes."""
    return lambda value: Parts((), {f".{name}": getattr(value, name) for name in names})


def _spelled(spell: Callable[[Any], Any]) -> Row:
    """Return a row for objects that a plain value describes completely."""
    return lambda value: Parts((spell(value),))


def _reduced(value: Any) -> Parts:
    return Parts((), {"": value.__reduce__()[1]})


def _sequence(value: Any) -> Parts:
    base = list if isinstance(value, list) else tuple if isinstance(value, tuple) else collections.deque
    return Parts((len(value),), {f"[{at}]": held for at, held in enumerate(base.__iter__(value))})


def _deque(value: Any) -> Parts:
    return Parts((len(value), value.maxlen), _sequence(value).inner)


def _mapping(value: Any) -> Parts:
    """Return keys and values in their order."""
    in_order = isinstance(value, collections.OrderedDict | types.MappingProxyType)
    items = list(value.items() if in_order else dict.items(value))
    inner = {f"[{_name(key, at)}]": held for at, (key, held) in enumerate(items)}
    keys = {f" (key {at})": key for at, (key, _) in enumerate(items) if type(key) is not str}
    made = {".default_factory": value.default_factory} if isinstance(value, collections.defaultdict) else {}
    return Parts((len(items), tuple(key for key, _ in items if type(key) is str)), {**keys, **made, **inner})


def _name(key: Any, at: int) -> str:
    return repr(key) if type(key) is str else f"key {at}"


def _numpy(value: Any) -> Parts:
    what = repr(value.dtype), value.shape, value.flags.writeable
    if value.dtype.hasobject:
        return Parts(what, {"": value.ravel().tolist()})
    return Parts((*what, value.tobytes()))


def _jax_array(value: Any) -> Parts | None:
    return Parts((str(value.dtype), value.shape, getattr(value, "weak_type", False), bits(value).tobytes()))


def _member(value: Any) -> Parts:
    return Parts((value.name,), {".value": value.value})


def _function(value: types.FunctionType) -> Parts:
    if value.__code__ is _DISPATCH.__code__:  # it caches the classes for which it was called
        given = {f".{name}": held for name, held in vars(value).items() if name not in vars(_DISPATCH)}
        return Parts((module_of(value), value.__qualname__), {".registry": value.registry, **given})  # type: ignore[attr-defined]
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    names = "__defaults__", "__kwdefaults__", "__annotations__", "__dict__"
    inner = {f".{name}": getattr(value, name) or None for name in names}
    # Two functions that share a variable share its cell.
    inner |= {f".{name}": cell for name, cell in cells}
    return Parts((module_of(value), value.__qualname__), {".__code__": Code(value), **inner})


def _code(value: types.CodeType) -> Parts:
    return Parts(tuple(getattr(value, name) for name in _PARTS_OF_CODE), {".co_consts": value.co_consts})


def _builtin(value: Any) -> Parts | None:
    """Return the parts of a method of an object: functions of extensions are the same object in both versions."""
    owner = value.__self__
    return None if owner is None or isinstance(owner, types.ModuleType) else Parts((value.__name__,), {"": owner})


def _kept(value: Any) -> Parts | None:
    """Return the parts of a function with a cache, which must be empty."""
    if value.cache_info().currsize:
        return None
    return Parts((), {".__wrapped__": value.__wrapped__, ".cache_parameters": value.cache_parameters()})


def _jitted(value: Any) -> Parts | None:
    """Return the arguments of `jax.jit`: the function, and all options except the place in the source."""
    options = getattr(getattr(value, "_jit_info", None), "_asdict", None)
    if options is None:
        return None
    inner = {f".{n}": held for n, held in options().items() if n not in ("fun_sourceinfo", "fun_signature")}
    return Parts((), {".__wrapped__": value.__wrapped__, **inner})


def _tree(value: Any) -> Parts:
    return Parts((value.num_leaves,), {".node_data": value.node_data(), ".children": value.children()})


def _attributes(value: Any) -> Parts:
    return Parts((), {f".{name}": held for name, held in attributes(value).items()})


def _exception(value: BaseException) -> Parts:
    return Parts((), {".args": value.args, **{f".{name}": held for name, held in vars(value).items()}})


def _with_state(value: Any) -> Parts:
    return Parts((state(value),))


_FLOATS: dict[type, Row] = {
    float: _spelled(lambda value: struct.pack("d", value)),
    complex: _spelled(lambda value: struct.pack("dd", value.real, value.imag)),
}
PLAIN: tuple[type, ...] = (bool, int, str, bytes, float, complex)
_TEXTS: tuple[type, ...] = (
    *(type(None), types.EllipsisType, type(NotImplemented), decimal.Decimal, datetime.timedelta, range),
    *(bool, int, str, bytes),
)
_EQUAL = (jax.sharding.Mesh, jax.sharding.Sharding, jax.sharding.PartitionSpec, jax.ShapeDtypeStruct)
_DATES = (datetime.datetime, datetime.date, datetime.time, datetime.timezone)
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_TAKERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)
_SETS = (set, frozenset)
ROWS: dict[type, Row] = {
    **{kind: _spelled(vars(kind).get("__repr__", repr)) for kind in _TEXTS},
    **_FLOATS,
    bytearray: _spelled(bytes),
    memoryview: lambda value: Parts((value.format, value.shape, value.readonly, value.tobytes())),
    array.array: lambda value: Parts((value.typecode, value.tobytes())),
    np.dtype: lambda value: Parts((repr(value), repr(value.metadata))),
    slice: _by("start", "stop", "step"),
    re.Pattern: _by("pattern", "flags"),
    pathlib.PurePath: _spelled(str),
    **dict.fromkeys(_DATES, _reduced),
    **dict.fromkeys((np.generic, np.str_, np.bytes_), lambda value: Parts((repr(value.dtype), value.tobytes()))),
    np.ndarray: _numpy,
    jax.Array: _jax_array,
    enum.Enum: _member,
    **dict.fromkeys((list, tuple), _sequence),
    collections.deque: _deque,
    **dict.fromkeys((dict, collections.OrderedDict, collections.defaultdict, types.MappingProxyType), _mapping),
    **dict.fromkeys(_SETS, lambda value: Parts((len(value),))),  # their elements are matched with each other
    Opaque: lambda value: None,
    Code: lambda value: Parts((), {"": value.function.__code__}),
    types.FunctionType: _function,
    types.CodeType: _code,
    types.CellType: lambda value: Parts((), {"": cell_contents(value)}),
    types.MethodType: _by("__func__", "__self__"),
    types.BuiltinMethodType: _builtin,
    functools.partial: _by("func", "args", "keywords", "__dict__"),
    property: _by("fget", "fset", "fdel"),
    **dict.fromkeys((staticmethod, classmethod), _by("__func__")),
    functools.cached_property: _by("func", "attrname"),
    functools.singledispatchmethod: _by("dispatcher", "func"),
    _LRU: _kept,
    **dict.fromkeys(_TAKERS, _reduced),
    type(NamedTuple("_Any", [("x", int)]).x): _reduced,  # type: ignore[attr-defined]
    **dict.fromkeys(_DESCRIPTORS, lambda value: Parts((value.__name__,))),
    types.GenericAlias: _by("__origin__", "__args__"),
    types.UnionType: _by("__args__"),
    typing.TypeVar: _by("__name__", "__bound__", "__constraints__"),
    type(jax.jit(lambda: 0)): _jitted,
    jax.tree_util.PyTreeDef: _tree,
    **dict.fromkeys(_EQUAL, lambda value: Parts((value,))),
    types.SimpleNamespace: _attributes,
    BaseException: _exception,
    **dict.fromkeys(STATEFUL, _with_state),
    types.ModuleType: lambda value: None,
    object: lambda value: None,
}
# Libraries whose subclasses of a type in the table contain no more than that type.
_WHOLE: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((np.generic, np.dtype, np.random.BitGenerator), ("numpy", "ml_dtypes")),
    **dict.fromkeys((jax.Array, jax.sharding.Sharding), ("jax", "jaxlib")),
    pathlib.PurePath: ("pathlib",),
    BaseException: ("builtins",),
}
_WRITABLE: tuple[type, ...] = (
    *(list, dict, set, collections.deque, bytearray, np.ndarray, array.array, types.CellType),
    *(types.SimpleNamespace, BaseException, *STATEFUL),
)
