"""What can be written to, reached from a model and the arguments of its call, and what it holds.

Lists, dicts, sets, NumPy arrays and objects with attributes are looked into, wherever they are: in a field that is
static, in an attribute of an object that is no pytree, in what a function closes over, in a class of the user's, or in
the global variables of the user's modules that hold these. A function may bind anew what it closes over, an object may
get another class, and a generator of random numbers has a state.
"""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
import types
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from scanify.verify.objects.states import behind, put_state, state
from scanify.verify.objects.statics import cell_contents


@dataclass(frozen=True, eq=False)
class Rebound:
    """The global variables of a module of the user's that a function binds anew."""

    variables: dict[str, Any]
    names: tuple[str, ...]


Contents = list[Any] | dict[Any, Any] | set[Any] | bytes

_LEAVES = (str, bytes, int, float, complex, type(None), jax.Array, types.ModuleType, types.CodeType, np.generic)
# Their objects keep what they like, as the programs that they have traced.
_OWN_BUSINESS = frozenset({"jax", "jaxlib", "equinox", "numpy", "scanify", "functools", "typing", "abc", "inspect"})
# Names for what an object holds beside its attributes.
_CLASS, _STATE, _OF_FUNCTIONS = "__class__", "its state", ("__code__", "__defaults__", "__kwdefaults__")
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: only classes of a class statement can be exchanged for one another
_BIND = ("STORE_GLOBAL", "DELETE_GLOBAL")
_BIND_GLOBALS = tuple(dis.opmap[name] for name in _BIND)
_SLOTS_OF_NONE = frozenset({"__dict__", "__weakref__"})
_HERE = str(Path(__file__).resolve().parents[2]) + os.sep
_STANDARD = tuple(f"{os.path.realpath(sysconfig.get_path(name))}{os.sep}" for name in ("stdlib", "platstdlib"))


def contents(value: Any) -> Contents | None:
    """What a value holds that can be written to, as a copy; None where nothing can be."""
    if isinstance(value, list | deque):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set):
        return set(value)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, Rebound):
        return {name: value.variables[name] for name in value.names if name in value.variables}
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else value.tobytes()
    if isinstance(value, (*_LEAVES, types.MethodType)):
        return None
    if isinstance(value, type):
        return _of_class(value)
    if isinstance(value, types.FunctionType):
        return _kept_by(value) if is_users(value.__globals__) else None
    held = state(value)
    own = dict(vars(value)) if isinstance(value, functools.partial | eqx.Module | BaseException) else attributes(value)
    if isinstance(value, BaseException):
        own = {**(own or {}), "args": value.args}
    if own is None:
        return held
    beside = {_CLASS: type(value)} if type(value).__flags__ & _HEAP and not isinstance(value, eqx.Module) else {}
    found = {name: kept for name, kept in own.items() if not _is_remembered(type(value), name)}
    return {**found, **beside, **({} if held is None else {_STATE: held})}


def _kept_by(function: types.FunctionType) -> dict[Any, Any]:
    """What a function of the user's holds that can be bound anew: what it closes over, defaults, attributes."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {_Cell(name, cell): cell_contents(cell) for name, cell in cells}
    return {**closed, **vars(function), **{name: getattr(function, name) for name in _OF_FUNCTIONS}}


class _Cell(str):
    """The name of a variable that a function closes over, with where its value is."""

    cell: types.CellType

    def __new__(cls, name: str, cell: types.CellType) -> _Cell:
        made = super().__new__(cls, f"{name} (closed over)")
        made.cell = cell
        return made


def attributes(value: Any) -> dict[Any, Any] | None:
    """The attributes that an object has of its own; None where it can have none."""
    kind = type(value)
    slots = _slots(kind)
    kept = getattr(value, "__dict__", None)
    if kind.__module__.partition(".")[0] in _OWN_BUSINESS or not (isinstance(kept, dict) or slots):
        return None
    found = {**(kept if isinstance(kept, dict) else {}), **{n: getattr(value, n) for n in slots if hasattr(value, n)}}
    return {name: held for name, held in found.items() if not _is_remembered(kind, name)}


def _is_remembered(kind: type, name: str) -> bool:
    """Whether an attribute is what a property has computed once."""
    return any(isinstance(vars(base).get(name), functools.cached_property) for base in kind.__mro__)


def put_back(value: Any, old: Contents) -> None:
    """Make `value` hold what it held before."""
    if isinstance(value, np.ndarray) and isinstance(old, list):
        for at, held in zip(np.ndindex(value.shape), old, strict=True):
            value[at] = held
    elif isinstance(value, np.ndarray):
        assert isinstance(old, bytes)
        value[...] = np.frombuffer(old, value.dtype).reshape(value.shape)
    elif isinstance(value, list | bytearray):
        value[:] = old
    elif isinstance(old, bytes):
        put_state(value, old)
    elif isinstance(value, Rebound):
        assert isinstance(old, dict)
        for name in set(value.names) - old.keys():
            value.variables.pop(name, None)
        value.variables.update(old)
    elif isinstance(value, deque | dict | set):
        value.clear()
        getattr(value, "extend" if isinstance(value, deque) else "update")(old)
    else:
        assert isinstance(old, dict)
        now = contents(value)
        assert isinstance(now, dict)
        for name in now.keys() - old.keys():
            _unset(value, name)
        for name, held in old.items():
            if name not in now or now[name] is not held:
                _set(value, name, held)


def containers(parts: dict[str, Any]) -> list[tuple[str, Any, Contents]]:
    """Each thing that can be written to, by its place, with what it holds; `parts` are where to start, by name."""
    found: list[tuple[str, Any, Contents]] = []
    seen: dict[int, Any] = {}
    waiting = deque(parts.items())
    while waiting:
        place, value = waiting.popleft()
        # A state forgets what it held when it is written to, and the new one is returned.
        if isinstance(value, (*_LEAVES, eqx.nn.State)) or id(value) in seen:
            continue
        seen[id(value)] = value
        held = contents(value)
        if held is not None:
            found.append((place, value, held))
        waiting.extend((f"{place}{key}", child) for key, child in _inside(value, held))
    return found


def _inside(value: Any, held: Contents | None) -> Iterator[tuple[str, Any]]:
    if isinstance(value, np.ndarray | bytearray):
        yield from ((f"[{at}]", child) for at, child in enumerate(held if isinstance(held, list) else ()))
        return
    if isinstance(value, functools.partial):
        yield ".func", value.func
        yield ".args", value.args
        yield ".keywords", value.keywords
        yield from vars(value).items()
    elif isinstance(value, types.MethodType):
        yield "", value.__func__
        yield "", value.__self__
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, tuple | list | deque):
        yield from ((f"[{at}]", child) for at, child in enumerate(value))
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", child) for key, child in value.items())
    elif isinstance(value, set | frozenset):
        yield from (("{}", child) for child in value)
    elif isinstance(value, eqx.Module):
        yield from ((f".{name}", child) for name, child in vars(value).items())
    else:
        yield from (("", child) for child in behind(value))
        yield from ((f".{name}", child) for name, child in (held if isinstance(held, dict) else {}).items())
    if not isinstance(value, type):
        yield f" ({type(value).__qualname__})", type(value)


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield f".{name}", cell_contents(cell)
    yield ".__defaults__", function.__defaults__
    yield ".__kwdefaults__", function.__kwdefaults__
    if is_users(function.__globals__):
        bound = tuple(sorted(set(_bound_globals(code))))
        if bound:
            yield " (globals)", Rebound(function.__globals__, bound)
        for name in _names(code):
            held = function.__globals__.get(name)
            if held is not None and not isinstance(held, types.ModuleType):
                yield f" ({name})", held


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _bound_globals(code: types.CodeType) -> Iterator[str]:
    if any(flag in code.co_code for flag in _BIND_GLOBALS):  # a byte that may be such an instruction
        yield from (str(each.argval) for each in dis.get_instructions(code) if each.opname in _BIND)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _bound_globals(const)


def _of_class(value: type) -> dict[Any, Any] | None:
    """What a class of the user's has, without what Python keeps there."""
    functions = [each for each in map(unwrapped, vars(value).values()) if each is not None]
    if not any(is_users(each.__globals__) for each in functions) and not _is_in_users_module(value):
        return None
    return {name: held for name, held in vars(value).items() if _is_written(name, held)}


def _is_written(name: str, held: Any) -> bool:
    """Whether somebody wrote what a class has under a name: Python and `dataclasses` put more there."""
    if not name.startswith(("__", "_abc")):
        return True
    function = unwrapped(held)
    return (
        function is not None
        and is_users(function.__globals__)
        and not function.__qualname__.startswith("__create_fn__")
    )


def unwrapped(value: Any) -> types.FunctionType | None:
    """The function that a class has under a name, whatever is around it."""
    for _ in range(8):
        if value is None or isinstance(value, types.FunctionType):
            return value
        inner = (getattr(value, name, None) for name in ("__func__", "fget", "method", "__wrapped__", "func"))
        value = next((each for each in inner if each is not None), None)
    return None


def _is_in_users_module(value: type) -> bool:
    module = sys.modules.get(value.__module__)
    return module is not None and is_users(vars(module))


def is_users(module_globals: dict[str, Any]) -> bool:
    """Whether the global variables are those of a module that is no library's, nor Python's."""
    file = module_globals.get("__file__")
    if not isinstance(file, str):
        return module_globals.get("__spec__") is None and module_globals.get("__name__") != "builtins"
    return _is_users_file(file)


@functools.lru_cache(4096)
def _is_users_file(file: str) -> bool:
    if any(f"{os.sep}{name}{os.sep}" in file for name in ("site-packages", "dist-packages")):
        return False
    return not os.path.realpath(file).startswith((_HERE, *_STANDARD))


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else [name for name in slots if isinstance(name, str)]
    return [name for name in found if name not in _SLOTS_OF_NONE]


def _set(value: Any, name: str, held: Any) -> None:
    if isinstance(name, _Cell):
        name.cell.cell_contents = held
    elif name == _STATE:
        put_state(value, held)
    else:
        put: Callable[..., None] = type.__setattr__ if isinstance(value, type) else object.__setattr__
        put(value, name, held)


def _unset(value: Any, name: str) -> None:
    drop: Callable[..., None] = type.__delattr__ if isinstance(value, type) else object.__delattr__
    drop(value, name)
