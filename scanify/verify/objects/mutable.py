"""Find mutable objects reachable from a model and its arguments, and their contents.

Lists, dicts, sets, NumPy arrays and objects with attributes are searched, wherever they are: in a static field, in an
attribute of an object that is not a pytree, in the closure of a function, in a class of the user, or in the global
variables of the user's modules. A function may rebind variables of its closure, and the attributes of modules that it
names, an object may get another class, and a generator of random numbers has a state.
"""

from __future__ import annotations

import dis
import functools
import math
import pickle
import sys
import types
import warnings
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import equinox as eqx
import jax
import numpy as np

from scanify.verify.objects.modules import Uses, is_users, modules_named, uses_of
from scanify.verify.objects.states import behind, put_state, state
from scanify.verify.objects.statics import cell_contents


@dataclass(frozen=True, eq=False)
class Rebound:
    """Variables that can be rebound, all or some: of a module, or of an object that is a list or dict.

    Variables of a library's class are bound through the class.
    """

    variables: Mapping[str, Any]
    names: tuple[str, ...] | None = None
    owner: type | None = None

    def held(self) -> dict[str, Any]:
        if self.names is None:
            return dict(self.variables)
        return {name: self.variables[name] for name in self.names if name in self.variables}

    def put(self, old: dict[str, Any]) -> None:
        """Restore the old bindings."""
        for name in self.held().keys() - old.keys():
            if self.owner is not None:
                delattr(self.owner, name)
            else:
                del cast("dict[str, Any]", self.variables)[name]
        for name, held in old.items():
            if self.owner is None:
                cast("dict[str, Any]", self.variables)[name] = held
            elif self.variables.get(name) is not held:
                setattr(self.owner, name, held)


Contents = list[Any] | dict[Any, Any] | set[Any] | bytes

_LEAVES = (str, bytes, int, float, complex, type(None), jax.Array, types.ModuleType, types.CodeType, np.generic)
# Their objects have internal state, such as the programs that they have traced.
_OWN_BUSINESS = frozenset({"jax", "jaxlib", "equinox", "numpy", "scanify", "functools", "typing", "abc", "inspect"})
# Names for the contents of an object besides its attributes.
_CLASS, _STATE, _FACTORY = "__class__", "its state", "its default_factory"
_FORM = "its form"
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__")
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: only classes of a class statement can be exchanged for one another
_BIND = ("STORE_GLOBAL", "DELETE_GLOBAL")
_BIND_GLOBALS = tuple(dis.opmap[name] for name in _BIND)
_SLOTS_OF_NONE = frozenset({"__dict__", "__weakref__"})
# Collections; an object of a subclass can have attributes besides its elements.
_COLLECTIONS = (list, dict, set, deque, bytearray, np.ndarray)


def contents(value: Any) -> Contents | None:
    """Return a copy of the mutable contents of a value; None if it is immutable."""
    if isinstance(value, list | deque):
        return list(value)
    if isinstance(value, dict):
        return {**value, _FACTORY: value.default_factory} if isinstance(value, defaultdict) else dict(value)
    if isinstance(value, set):
        return set(value)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, memoryview):
        return None if value.readonly or not value.contiguous else value.tobytes()
    if isinstance(value, Rebound):
        return value.held()
    if isinstance(value, np.ndarray):
        form = {_FORM: pickle.dumps((value.shape, value.dtype, value.flags.writeable))}
        elements = enumerate(value.ravel().tolist()) if value.dtype.hasobject else [("elements", value.tobytes())]
        return {**form, **dict[Any, Any](elements)}
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
    """Return what can be rebound in a function of the user: variables of its closure, defaults, attributes."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {_Cell(name, cell): cell_contents(cell) for name, cell in cells}
    return {**closed, **vars(function), **{name: getattr(function, name) for name in _OF_FUNCTIONS}}


class _Cell(str):
    """The name of a variable in a function's closure, with its cell."""

    cell: types.CellType

    def __new__(cls, name: str, cell: types.CellType) -> _Cell:
        made = super().__new__(cls, f"{name} (closed over)")
        made.cell = cell
        return made


def attributes(value: Any) -> dict[Any, Any] | None:
    """Return the attributes of an object itself; None if it can have none."""
    kind = type(value)
    slots = _slots(kind)
    kept = getattr(value, "__dict__", None)
    if kind.__module__.partition(".")[0] in _OWN_BUSINESS or not (isinstance(kept, dict) or slots):
        return None
    found = {**(kept if isinstance(kept, dict) else {}), **{n: getattr(value, n) for n in slots if hasattr(value, n)}}
    return {name: held for name, held in found.items() if not _is_remembered(kind, name)}


def _is_remembered(kind: type, name: str) -> bool:
    """True if an attribute is the cached value of a property."""
    return any(isinstance(vars(base).get(name), functools.cached_property) for base in kind.__mro__)


def put_back(value: Any, old: Contents) -> None:
    """Restore the old contents of `value`."""
    if isinstance(value, np.ndarray):
        assert isinstance(old, dict)
        _put_elements(value, old)
    elif isinstance(value, memoryview):
        assert isinstance(old, bytes)
        value.cast("B")[:] = old
    elif isinstance(value, list | bytearray):
        value[:] = old
    elif isinstance(old, bytes):
        put_state(value, old)
    elif isinstance(value, Rebound):
        assert isinstance(old, dict)
        value.put(old)
    elif isinstance(value, deque | dict | set):
        value.clear()
        getattr(value, "extend" if isinstance(value, deque) else "update")(old)
        if isinstance(value, defaultdict):
            value.default_factory = value.pop(_FACTORY)
    else:
        assert isinstance(old, dict)
        now = contents(value)
        assert isinstance(now, dict)
        for name in now.keys() - old.keys():
            _unset(value, name)
        for name, held in old.items():
            if name not in now or now[name] is not held:
                _set(value, name, held)


def _put_elements(array: Any, old: dict[Any, Any]) -> None:
    shape, dtype, writeable = pickle.loads(old[_FORM])
    if (array.shape, array.dtype) != (shape, dtype):
        with warnings.catch_warnings(action="ignore"):  # NumPy 2.5 warns of it, but there is no other way in place
            if array.nbytes != math.prod(shape) * dtype.itemsize:
                array.resize(math.prod(shape) * dtype.itemsize // array.itemsize, refcheck=False)
            array.dtype, array.shape = dtype, shape
    if array.flags.writeable != writeable:
        array.flags.writeable = True
    if array.flags.writeable and dtype.hasobject:
        for at, place in enumerate(np.ndindex(shape)):
            array[place] = old[at]
    elif array.flags.writeable:
        array[...] = np.frombuffer(old["elements"], dtype).reshape(shape)
    array.flags.writeable = writeable


def containers(parts: dict[str, Any]) -> list[tuple[str, Any, Contents]]:
    """Find each mutable object, by its place, with its contents; `parts` are the roots, by name."""
    found: list[tuple[str, Any, Contents]] = []
    seen: dict[int, Any] = {}
    waiting = deque(parts.items())
    while waiting:
        place, value = waiting.popleft()
        # A state forgets its contents when it is written to, and the new one is returned.
        if isinstance(value, (*_LEAVES, eqx.nn.State)) or id(value) in seen:
            continue
        seen[id(value)] = value
        held = contents(value)
        if held is not None:
            found.append((place, value, held))
        waiting.extend((f"{place}{key}", child) for key, child in _inside(value, held))
    return found


def _inside(value: Any, held: Contents | None) -> Iterator[tuple[str, Any]]:
    if isinstance(value, _COLLECTIONS) and isinstance(kept := getattr(value, "__dict__", None), dict):
        yield " (attributes)", Rebound(kept)
    if isinstance(value, np.ndarray | bytearray | memoryview):
        yield from ((f"[{at}]", child) for at, child in (held.items() if isinstance(held, dict) else ()))
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
    elif isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, types.ModuleType):
        yield "", value.__self__  # such as `log.append`
    elif isinstance(value, tuple | list | deque):
        yield from ((f"[{at}]", child) for at, child in enumerate(value))
    elif isinstance(value, dict | types.MappingProxyType):
        yield from ((f"[{key!r}]", child) for key, child in value.items())
    elif isinstance(value, types.GeneratorType):
        yield from _of_generator(value)
    elif isinstance(value, weakref.ref):
        yield "", value()
    elif isinstance(value, set | frozenset):
        yield from (("{}", child) for child in value)
    elif isinstance(value, eqx.Module):
        yield from ((f".{name}", child) for name, child in vars(value).items())
    else:
        yield from (("", child) for child in behind(value))
        yield from ((f".{name}", child) for name, child in (held if isinstance(held, dict) else {}).items())
    if isinstance(value, type):  # an inherited method may write to variables in the module of its class
        yield from ((f" ({base.__qualname__})", base) for base in value.__bases__)
    if type(value) is not type:
        yield f" ({type(value).__qualname__})", type(value)


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield f".{name}", cell_contents(cell)
    yield ".__defaults__", function.__defaults__
    yield ".__kwdefaults__", function.__kwdefaults__
    yield from _named(code, function.__globals__)


def _of_generator(generator: types.GeneratorType[Any, Any, Any]) -> Iterator[tuple[str, Any]]:
    if generator.gi_frame is not None:
        yield from ((f".{name}", held) for name, held in generator.gi_frame.f_locals.items())
        yield from _named(generator.gi_code, generator.gi_frame.f_globals)


def _named(code: types.CodeType, variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the objects that user code names: globals, and attributes of modules and of library classes."""
    if not is_users(variables):
        return
    bound = tuple(sorted(set(_bound_globals(code))))
    if bound:
        yield " (globals)", Rebound(variables, bound)
    uses = uses_of(code)
    for name in uses.names:
        held = variables.get(name)
        if held is not None and not isinstance(held, types.ModuleType):
            yield from _held(name, held, uses)
    for place, module in modules_named(uses, variables):
        users = is_users(vars(module))
        if uses.stored:
            yield f" (attributes of {place})", Rebound(vars(module), uses.stored)
        if uses.by_text and users:
            yield f" (attributes of {place})", Rebound(vars(module))
        for name in uses.names:
            held = vars(module).get(name)
            if held is not None and (users or isinstance(held, type)):
                yield from _held(f"{place}.{name}", held, uses)


def _held(place: str, held: Any, uses: Uses) -> Iterator[tuple[str, Any]]:
    yield f" ({place})", held
    if uses.stored and isinstance(held, type) and held.__flags__ & _HEAP and _of_class(held) is None:
        yield f" (attributes of {place})", Rebound(vars(held), uses.stored, held)


def _bound_globals(code: types.CodeType) -> Iterator[str]:
    if any(flag in code.co_code for flag in _BIND_GLOBALS):  # a byte that may be such an instruction
        yield from (str(each.argval) for each in dis.get_instructions(code) if each.opname in _BIND)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _bound_globals(const)


def _of_class(value: type) -> dict[Any, Any] | None:
    """Return the attributes of a class of the user, except those that Python adds."""
    functions = [each for each in map(unwrapped, vars(value).values()) if each is not None]
    if not any(is_users(each.__globals__) for each in functions) and not _is_in_users_module(value):
        return None
    return {name: held for name, held in vars(value).items() if _is_written(name, held)}


def _is_written(name: str, held: Any) -> bool:
    """True if a class attribute is written in the source: Python and `dataclasses` add others."""
    if not name.startswith(("__", "_abc")):
        return True
    function = unwrapped(held)
    return (
        function is not None
        and is_users(function.__globals__)
        and not function.__qualname__.startswith("__create_fn__")
    )


def unwrapped(value: Any) -> types.FunctionType | None:
    """Return the function of a class attribute, inside any wrappers."""
    for _ in range(8):
        if value is None or isinstance(value, types.FunctionType):
            return value
        inner = (getattr(value, name, None) for name in ("__func__", "fget", "method", "__wrapped__", "func"))
        value = next((each for each in inner if each is not None), None)
    return None


def _is_in_users_module(value: type) -> bool:
    module = sys.modules.get(value.__module__)  # a user's version may be loaded under no name
    return module is None or is_users(vars(module))


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
    kept = getattr(value, "__dict__", None)
    if isinstance(kept, dict) and name in kept:  # also for objects local to a thread
        del kept[name]
        return
    drop: Callable[..., None] = type.__delattr__ if isinstance(value, type) else object.__delattr__
    drop(value, name)
