"""A digest of a traced program that is the same in every process.

Two processes that trace the same version get the same digest, unless the trace depends on something else. Operations
count with their parameters and avals, constants with their bytes, functions in parameters with their code and the
values it reads; source locations are ignored.
"""

import dataclasses
import enum
import functools
import hashlib
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from scanify.jaxpr.reading.calls import opened
from scanify.jaxpr.reading.equinox_errors import messages

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
_DEPTH = 12


def digest(*programs: Any) -> str:
    """Return the digest of `ClosedJaxpr`s, arrays, strings and tuples of these."""
    writer = _Writer()
    return hashlib.sha256("\n".join(writer.text(each, 0) for each in programs).encode("utf-8", "replace")).hexdigest()


class _Writer:
    """Serialises values; a shared object is replaced by its digest."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        self._inside: set[int] = set()

    def text(self, value: Any, depth: int) -> str:
        if value is None or (isinstance(value, bool | int | str | bytes) and type(value) in (bool, int, str, bytes)):
            return repr(value)
        if isinstance(value, float | complex) and type(value) in (float, complex):
            return f"{type(value).__name__} {np.asarray(value).tobytes().hex()}"
        if isinstance(value, types.ModuleType):  # the module numpy has a `shape` and a `dtype`
            return f"module {value.__name__}"
        if hasattr(value, "eqns") or hasattr(getattr(value, "jaxpr", None), "eqns"):
            return self._once(value, depth, self._program)
        if isinstance(value, np.ndarray | np.generic) or (_like_array(value) and not isinstance(value, type)):
            return _array(value)
        if id(value) in self._inside or depth > _DEPTH:
            return f"again {type(value).__qualname__}"
        self._inside.add(id(value))
        try:
            return self._compound(value, depth + 1)
        finally:
            self._inside.discard(id(value))

    def _once(self, value: Any, depth: int, spell: Any) -> str:
        if id(value) not in self._known:
            spelled = hashlib.sha256(spell(value, depth).encode("utf-8", "replace")).hexdigest()
            self._known[id(value)] = (value, spelled)
        return self._known[id(value)][1]

    def _program(self, program: Any, depth: int) -> str:
        jaxpr, consts = opened(program)
        names: dict[Any, str] = {}

        def atom(each: Any) -> str:
            if hasattr(each, "val"):
                return f"{self.text(each.val, depth)}:{_aval(each.aval)}"
            return names.get(each, "?")

        lines = []
        for variable in (*jaxpr.constvars, *jaxpr.invars):
            names[variable] = f"v{len(names)}"
            lines.append(f"{names[variable]}:{_aval(variable.aval)}")
        lines += [self.text(const, depth) for const in consts]
        for equation in jaxpr.eqns:
            given = " ".join(map(atom, equation.invars))
            params = {name: value for name, value in equation.params.items() if not name.startswith("debug")}
            for variable in equation.outvars:
                names[variable] = f"v{len(names)}"
            made = " ".join(f"{names[variable]}:{_aval(variable.aval)}" for variable in equation.outvars)
            effects = sorted(type(effect).__name__ for effect in equation.effects)
            kept = " ".join(f"{name}={self.text(params[name], depth)}" for name in sorted(params))
            lines.append(f"{made} = {equation.primitive.name} {given} [{kept}] {effects}")
        lines.append(" ".join(map(atom, jaxpr.outvars)))
        return "\n".join(lines)

    def _compound(self, value: Any, depth: int) -> str:
        if isinstance(value, enum.Enum):
            return f"{type(value).__qualname__}.{value.name}"
        if isinstance(value, type):
            return f"{value.__module__}.{value.__qualname__}"
        if isinstance(value, np.dtype):
            return str(value)
        if isinstance(value, types.CodeType):
            return self._code(value, depth)
        if isinstance(value, types.FunctionType):
            return self._once(value, depth, self._function)
        if isinstance(value, types.MethodType):
            return f"method {self.text(value.__func__, depth)}"
        if isinstance(value, functools.partial):
            return f"partial {self.text((value.func, value.args, value.keywords), depth)}"
        if isinstance(value, dict | types.MappingProxyType):
            return "{" + ", ".join(f"{self.text(k, depth)}: {self.text(v, depth)}" for k, v in value.items()) + "}"
        if isinstance(value, tuple | list):
            return f"{type(value).__name__}({', '.join(self.text(each, depth) for each in value)})"
        if isinstance(value, set | frozenset):
            return "set(" + ", ".join(sorted(self.text(each, depth) for each in value)) + ")"
        if type(value).__name__ == "WrappedFun":
            return f"wrapped {self.text(getattr(value, 'f', None), depth)}"
        if dataclasses.is_dataclass(value):
            held = [(f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value)]
            return f"{type(value).__qualname__}{self.text(held, depth)}"
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            return f"around {self.text(wrapped, depth)}"
        return _ADDRESS.sub("", f"{type(value).__qualname__} {_said(value)}")

    def _function(self, function: types.FunctionType, depth: int) -> str:
        said = messages(function)
        if said is not None:  # it also captures the stack of this trace
            return f"raises {said}"
        held = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        # jax caches data about the calls of a rule, which depends on earlier traces.
        remembers = function.__qualname__ == "_memoize.<locals>.memoized" and function.__module__.startswith("jax.")
        cells = [_contents(cell) for name, cell in held if not (remembers and name == "cells")]
        given = self.text([function.__defaults__, function.__kwdefaults__, cells], depth)
        found = [] if depth > 4 else [f"{name}={self.text(held, depth + 3)}" for name, held in _found(function)]
        return f"{function.__module__}.{function.__qualname__} {self._code(function.__code__, depth)} {given} {found}"

    def _code(self, code: types.CodeType, depth: int) -> str:
        consts = self.text(code.co_consts, depth)
        return f"code {hashlib.sha256(code.co_code).hexdigest()} {code.co_names} {code.co_freevars} {consts}"


def _found(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the values that the code of a function reads by name: globals, and attributes of modules."""
    names = sorted(set(function.__code__.co_names))
    for name in names:
        held = function.__globals__.get(name)
        if isinstance(held, types.ModuleType):
            yield from ((f"{name}.{each}", vars(held)[each]) for each in names if each in vars(held))
        elif isinstance(held, types.FunctionType | int | float | str | bool | tuple | functools.partial):
            yield name, held


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _aval(aval: Any) -> str:
    weak = "~" if getattr(aval, "weak_type", False) else ""
    if _like_array(aval):
        return f"{weak}{aval.dtype}{list(aval.shape)}"
    return _ADDRESS.sub("", str(aval))


def _like_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _array(value: Any) -> str:
    held = getattr(value, "_base_array", value)
    if type(value).__name__ == "ShapeDtypeStruct" or not hasattr(held, "__array__"):
        return f"like {_aval(value)}"
    try:
        raw = np.ascontiguousarray(np.asarray(held))
    except Exception:  # a tracer, which has no values
        return f"like {_aval(value)}"
    return f"array {_aval(value)} {hashlib.sha256(raw.tobytes()).hexdigest()}"


def _said(value: Any) -> str:
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{getattr(value, '__module__', '')}.{value.__qualname__}"
    try:
        return repr(value)
    except Exception:  # `__repr__` of any object may raise
        return ""
