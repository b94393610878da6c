"""Are two values equal that come from one module loaded twice?

Its classes and functions are then different objects with the same qualified names, so `is` and `==` answer too little.
What a function computes is settled by tracing; here it is only asked whether both versions hold the same thing.
"""

from __future__ import annotations

import contextlib
import contextvars
import enum
import functools
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from scanify.verify.arrays import is_array, is_key, same_bits, show_value

_Seen = set[tuple[int, int]]


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
        return is_array(a) and is_array(b) and _same_array(a, b)
    if qualified(type(a)) != qualified(type(b)):
        return False
    if isinstance(a, float | complex):
        return repr(a) == repr(b) or (isinstance(a, float) and math.isnan(a) and math.isnan(b))
    if isinstance(a, enum.Enum):
        return bool(a.name == b.name)
    if isinstance(a, types.FunctionType) and isinstance(b, types.FunctionType):
        return _same_function(a, b, seen)
    if isinstance(a, types.MethodType):
        return _same(a.__func__, b.__func__, seen) and _same(a.__self__, b.__self__, seen)
    if isinstance(a, types.CodeType):
        return _same_code(a, b)
    if isinstance(a, functools.partial):
        return _same((a.func, a.args, a.keywords), (b.func, b.args, b.keywords), seen)
    if isinstance(a, Mapping):
        return list(map(repr, a)) == list(map(repr, b)) and _all(a.values(), b.values(), seen)
    if isinstance(a, list | tuple):
        return _all(a, b, seen)
    if isinstance(a, set | frozenset):
        return len(a) == len(b) and all(any(_same(x, y, seen) for y in b) for x in a)
    return _same_object(a, b, seen)


def _same_array(a: Any, b: Any) -> bool:
    if any(isinstance(x, jax.core.Tracer | jax.ShapeDtypeStruct) for x in (a, b)):
        return False
    return type(a) is type(b) and same_bits(a, b)


def _same_function(a: types.FunctionType, b: types.FunctionType, seen: _Seen) -> bool:
    if (_module(a), a.__qualname__) != (_module(b), b.__qualname__):
        return False
    if "<lambda>" in a.__qualname__ and not _same_code(a.__code__, b.__code__):
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


def same_program(before: Any, after: Any) -> bool:
    """Whether two functions run the same instructions; anything else than functions does, too."""
    first, second = (getattr(getattr(value, "func", value), "__code__", None) for value in (before, after))
    if not isinstance(first, types.CodeType) or not isinstance(second, types.CodeType):
        return True
    return _same_code(first, second)


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Same instructions on the same names and constants; line numbers do not count."""
    parts = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_kwonlyargcount")
    if any(getattr(a, part) != getattr(b, part) for part in parts):
        return False
    return _all(a.co_consts, b.co_consts, set())


def _all(a: Iterable[Any], b: Iterable[Any], seen: _Seen) -> bool:
    first, second = list(a), list(b)
    return len(first) == len(second) and all(_same(x, y, seen) for x, y in zip(first, second, strict=True))


def _same_object(a: Any, b: Any, seen: _Seen) -> bool:
    if isinstance(a, np.generic):
        return bool(a.dtype == b.dtype and a.tobytes() == b.tobytes())
    if isinstance(a, int | str | bytes | np.dtype) or is_key(a):
        return bool(a == b)
    try:
        if bool(a == b):
            return True
    except Exception:  # user code: an __eq__ that cannot answer settles nothing
        pass
    if type(a) is object:  # sentinels: only their identity tells them apart, and that is never kept by a second load
        return True
    attributes = _attributes(a), _attributes(b)
    if not attributes[0] and type(a) is type(b):
        return False
    return attributes[0].keys() == attributes[1].keys() and all(
        _same(value, attributes[1][name], seen) for name, value in attributes[0].items()
    )


def _attributes(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found
