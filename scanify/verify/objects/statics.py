"""Are two values equal that come from one module loaded twice?

Its classes and functions are then different objects with the same qualified names, so `is` and `==` answer too little.
What a function computes is settled by tracing; here it is only asked whether both versions hold the same thing.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from scanify.verify.objects.states import state
from scanify.verify.values.arrays import is_array, is_key, same_bits, show_value

_Seen = set[tuple[int, int]]


@dataclasses.dataclass(frozen=True, eq=False)
class Code:
    """A function without what it closes over. Whether two are the same is another question (`meaning`)."""

    function: types.FunctionType


_IsUsers = Callable[[str], bool]

_IS_USERS: contextvars.ContextVar[_IsUsers] = contextvars.ContextVar("is_users", default=lambda name: False)


@contextlib.contextmanager
def users_modules(is_users: _IsUsers) -> Iterator[None]:
    """Inside, the name of a module of the user's own (`is_users` says which) is no part of a qualified name.

    A class keeps its name when somebody moves it to another file, and what it computes is compared anyway.
    """
    token = _IS_USERS.set(is_users)
    try:
        yield
    finally:
        _IS_USERS.reset(token)


def qualified(kind: type) -> str:
    """`module.Class`, the name that a reloaded class keeps."""
    return f"{_module(kind)}.{kind.__qualname__}"


def _module(value: Any) -> str:
    name = str(value.__module__)
    return "" if _IS_USERS.get()(name) else name


_PLAIN: tuple[type, ...] = (bool, int, str, bytes, float, complex)
_PARTS_OF_CODE = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_exceptiontable"),
    *("co_argcount", "co_kwonlyargcount", "co_posonlyargcount"),
)
_TRUSTED = frozenset({"builtins", "jax", "jaxlib", "numpy", "ml_dtypes", "collections", "functools", "pathlib"})


def static_difference(before: Any, after: Any) -> str | None:
    """How two values that are no array leaves differ, in words; None where they are equal.

    Equal are: values of the same type that are `==` (floats bit for bit); functions and classes of the same qualified
    name (lambdas also need the same code); arrays of the same bits; and objects whose attributes are equal.
    """
    if _same(before, after, set()):
        return None
    shown = show_value(before), show_value(after)
    if shown[0] == shown[1]:
        shown = f"{shown[0]} of {qualified(type(before))}", f"{shown[1]} of {qualified(type(after))}"
        if shown[0] == shown[1]:
            return f"the original and the rewritten version hold different {shown[0]}"
    return f"{shown[0]} in the original, {shown[1]} in the rewritten version"


def _same(a: Any, b: Any, seen: _Seen) -> bool:
    if a is b or (id(a), id(b)) in seen:
        return True
    seen = seen | {(id(a), id(b))}
    if isinstance(a, type) and isinstance(b, type):
        return qualified(a) == qualified(b)
    if is_array(a) or is_array(b):
        return is_array(a) and is_array(b) and same_array(a, b)
    if qualified(type(a)) != qualified(type(b)):
        return False
    if isinstance(a, Code):
        return True
    plain = next((kind for kind in _PLAIN if isinstance(a, kind)), None)
    if plain is not None and type(a) is not plain and not _same_attributes(a, b, seen):
        return False
    if plain is not None and plain not in (float, complex):
        return plain.__eq__(a, b) is True  # type: ignore[call-arg]
    if plain is not None:
        return plain.__repr__(a) == plain.__repr__(b) or (plain is float and math.isnan(a) and math.isnan(b))
    if isinstance(a, enum.Enum):
        return bool(a.name == b.name)
    if isinstance(a, types.FunctionType) and isinstance(b, types.FunctionType):
        return _same_function(a, b, seen)
    if isinstance(a, types.MethodType):
        return _same(a.__func__, b.__func__, seen) and _same(a.__self__, b.__self__, seen)
    if isinstance(a, types.CodeType):
        return same_code(a, b)
    if isinstance(a, functools.partial):
        first, second = ((each.func, each.args, each.keywords, vars(each)) for each in (a, b))
        return _same(first, second, seen)
    if isinstance(a, Mapping):
        made = [each.default_factory if isinstance(each, collections.defaultdict) else None for each in (a, b)]
        return _same(made[0], made[1], seen) and _all(a, b, seen) and _all(a.values(), b.values(), seen)
    if isinstance(a, list | tuple | collections.deque):
        ends = [each.maxlen if isinstance(each, collections.deque) else None for each in (a, b)]
        return ends[0] == ends[1] and _all(a, b, seen)
    if isinstance(a, set | frozenset):
        return len(a) == len(b) and _one_to_one(list(a), list(b), seen)
    return _same_object(a, b, seen)


def same_array(a: Any, b: Any) -> bool:
    if any(isinstance(x, jax.core.Tracer | jax.ShapeDtypeStruct) for x in (a, b)):
        return False
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype.hasobject:
        return (a.shape, a.dtype) == (b.shape, b.dtype) and _all(a.ravel().tolist(), b.ravel().tolist(), set())
    if not same_bits(a, b):
        return False
    # One of a class of its own may hold more, as the mask of a masked array.
    return not isinstance(a, np.ndarray) or type(a) is np.ndarray or _same_attributes(a, b, set())


def _same_function(a: types.FunctionType, b: types.FunctionType, seen: _Seen) -> bool:
    if (_module(a), a.__qualname__) != (_module(b), b.__qualname__):
        return False
    if "<lambda>" in a.__qualname__ and not same_code(a.__code__, b.__code__):
        return False
    cells = [[cell_contents(cell) for cell in f.__closure__ or ()] for f in (a, b)]
    kept = [(f.__defaults__, f.__kwdefaults__) for f in (a, b)]
    return _all(cells[0], cells[1], seen) and _same(kept[0], kept[1], seen)


def cell_contents(cell: types.CellType) -> Any:
    """What a function closes over; None for a name that has no value yet."""
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Same instructions on the same names and constants; line numbers do not count."""
    if any(getattr(a, part) != getattr(b, part) for part in _PARTS_OF_CODE):
        return False
    return _all(a.co_consts, b.co_consts, set())


def _all(a: Iterable[Any], b: Iterable[Any], seen: _Seen) -> bool:
    first, second = list(a), list(b)
    return len(first) == len(second) and all(_same(x, y, seen) for x, y in zip(first, second, strict=True))


def _one_to_one(a: list[Any], b: list[Any], seen: _Seen) -> bool:
    """Whether each element has one of its own in the other set that is the same."""
    for x in a:
        at = next((i for i, y in enumerate(b) if _same(x, y, seen)), None)
        if at is None:
            return False
        del b[at]
    return True


def _same_object(a: Any, b: Any, seen: _Seen) -> bool:
    """By their attributes. What a class of the user's says of equality is not asked: it may say anything."""
    if isinstance(a, np.generic):
        return bool(a.dtype == b.dtype and a.tobytes() == b.tobytes())
    if isinstance(a, np.dtype) or is_key(a):
        return bool(a == b)
    if type(a) is object:  # sentinels: only their identity tells them apart, and that is never kept by a second load
        return True
    if _is_marker(a):
        return _is_marker(b)
    if type(a) is type(b) and _is_librarys(type(a)):
        try:
            if bool(a == b):
                return True
        except Exception:  # an __eq__ that cannot answer settles nothing
            pass
        parts = [_parts(each) for each in (a, b)]
        if None not in parts:
            return _same(parts[0], parts[1], seen)
    return (bool(attributes(a)) or _holds_nothing_else(type(a))) and _same_attributes(a, b, seen)


def _parts(value: Any) -> Any:
    """What an object of Python's own or of NumPy holds, where that can be asked; None where it cannot."""
    known = state(value)
    if known is not None:
        return known, attributes(value)
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, types.BuiltinMethodType):
        return value.__name__, value.__self__
    module = type(value).__module__
    return value.__reduce__() if module == "operator" else None


def _holds_nothing_else(kind: type) -> bool:
    """Whether all that an object of the class can hold are its attributes."""
    heap = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
    return all(base is object or (base.__flags__ & heap and not _is_librarys(base)) for base in kind.__mro__)


def _same_attributes(a: Any, b: Any, seen: _Seen) -> bool:
    held = attributes(a), attributes(b)
    return held[0].keys() == held[1].keys() and all(
        _same(value, held[1][name], seen) for name, value in held[0].items()
    )


def _is_librarys(kind: type) -> bool:
    """Whether a class is one of Python's own, of jax or of NumPy, whose equality means that."""
    return kind.__module__.partition(".")[0] in _TRUSTED or kind.__module__ in sys.stdlib_module_names


def _is_marker(value: Any) -> bool:
    """What equinox puts where something was and tells apart by identity alone, for `StateIndex` and `Shared`."""
    kind = type(value)
    return kind.__module__.startswith("equinox.") and kind.__qualname__.endswith(("Marker", "SharedNode"))


def attributes(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found
