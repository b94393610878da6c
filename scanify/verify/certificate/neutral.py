"""Programs in a neutral, serialised form, for certificates.

Tables of avals, constants, parameters and jaxprs hold each entry once. A jaxpr has its inputs' avals, its equations and
its outputs; an equation is `[primitive, parameters, operands, avals of the outputs]`, followed by `true` if it has
effects. Operands are numbers: first the inputs, then the outputs of the equations one after another; -1 is the first
constant, -2 the next. Equations that no output or effect needs are omitted. A call has only the jaxpr that it computes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import numpy as np

from scanify.jaxpr.primitives import IDENTITIES, IRRELEVANT, SAID_TWICE
from scanify.jaxpr.reading.calls import callee, opened
from scanify.jaxpr.reading.canonical import Alike, Canonical, NotUnderstood
from scanify.jaxpr.reading.primitives import is_own
from scanify.jaxpr.reading.scan import read_scan

# Constants of more bytes are written as digests.
BY_VALUE = 1 << 16
_PLAIN = ("int", "bool", "str", "NoneType")


class Table:
    """JSON values, each once, by number."""

    def __init__(self) -> None:
        self.things: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, thing: Any) -> int:
        text = json.dumps(thing, separators=(",", ":"))
        found = self._numbers.setdefault(text, len(self.things))
        if found == len(self.things):
            self.things.append(thing)
        return found


class Neutral:
    """The programs of both versions of a case, in one set of tables.

    `alike` compares functions of the versions.
    """

    def __init__(self, alike: Alike | None) -> None:
        self.avals, self.constants, self.params, self.jaxprs = Table(), Table(), Table(), Table()
        self._alive: list[Any] = []
        self._canonical = Canonical(lambda jaxpr: ("neutral", self.jaxpr(jaxpr)), self._alive, alike)
        self._jaxprs: dict[int, int] = {}
        self._objects: dict[Any, int] = {}
        self._names: dict[int, str] = {}
        self._fields: dict[int, tuple[str, ...]] = {}
        self._named = 0

    def jaxpr(self, jaxpr: Any) -> int:
        """Return the number of a jaxpr, open or closed.

        Raises:
            NotUnderstood: a part of it has no neutral form.
        """
        inner, consts = opened(jaxpr)
        if id(inner) in self._jaxprs and not consts:
            return self._jaxprs[id(inner)]
        if len(inner.constvars) != len(consts):
            raise NotUnderstood("a jaxpr without its constants")
        self._alive.append(inner)
        numbers = {variable: at for at, variable in enumerate(inner.invars)}
        for variable, const in zip(inner.constvars, consts, strict=True):
            numbers[variable] = self.constant(const, variable.aval)
        count, equations = len(inner.invars), []

        def atom(given: Any) -> int:
            return self.constant(given.val, given.aval) if hasattr(given, "val") else numbers[given]

        for equation in _needed(inner):
            equations.append(self._equation(equation, [atom(each) for each in equation.invars]))
            for variable in equation.outvars:
                numbers[variable] = count
                count += 1
        inputs = [self.aval(variable.aval) for variable in inner.invars]
        found = self.jaxprs.number([inputs, equations, [atom(each) for each in inner.outvars]])
        self._jaxprs[id(inner)] = found
        return found

    def aval(self, aval: Any) -> int:
        if not hasattr(aval, "shape") or "Ref" in type(aval).__name__:
            raise NotUnderstood(f"a value of type {type(aval).__name__}")
        return self.avals.number([_named(aval.dtype), [int(size) for size in aval.shape]])

    def constant(self, value: Any, aval: Any) -> int:
        """Return the operand for a constant: a negative number."""
        held = getattr(value, "_base_array", value)
        if isinstance(aval.dtype, np.dtype):
            array = np.asarray(held, aval.dtype).reshape(aval.shape)
        elif held is value:
            raise NotUnderstood(f"a constant of dtype {aval.dtype}")
        else:
            array = np.asarray(held)
        return -1 - self.constants.number([self.aval(aval), _named(array.dtype), list(array.shape), *_written(array)])

    def _equation(self, equation: Any, operands: list[int]) -> list[Any]:
        name, called = equation.primitive.name, callee(equation) if is_own(equation.primitive) else None
        scan = read_scan(equation.params) if name == "scan" and is_own(equation.primitive) else None
        if name in IDENTITIES and len(operands) == len(equation.outvars) and is_own(equation.primitive):
            params: dict[str, Any] = {}
        elif called is not None:
            params = {"call": {"jaxpr": self._called(equation, called)}}
        elif scan is not None:
            body = {"jaxpr": self.jaxpr(scan.jaxpr)}
            sizes = {"length": scan.length, "reverse": scan.reverse, "consts": scan.consts, "carry": scan.carry}
            params = {"body": body, **sizes}
        else:
            without = IRRELEVANT | SAID_TWICE.get(name, set())
            given = {key: value for key, value in equation.params.items() if key not in without}
            if name.startswith(("random", "threefry", "rng")):
                given["threefry_partitionable"] = getattr(equation.ctx, "threefry_partitionable", None)
            params = {key: self._spelled(self._canonical.key(given[key])) for key in sorted(given)}
        if not is_own(equation.primitive):
            name = f"{name}, object {self._object(id(equation.primitive), equation.primitive)}"
        outputs = [self.aval(variable.aval) for variable in equation.outvars]
        return [name, self.params.number(params), operands, outputs, *([True] if equation.effects else [])]

    def _called(self, equation: Any, called: tuple[Any, tuple[Any, ...]]) -> int:
        """Return the jaxpr of a call. Its constants may be held by a new object on each opening."""
        inner, consts = called
        if not consts:
            return self.jaxpr(inner)
        return self.jaxpr(next(v for v in equation.params.values() if hasattr(v, "consts") and opened(v)[0] is inner))

    def _object(self, key: Any, kept: Any) -> int:
        self._alive.append(kept)
        return self._objects.setdefault(key, len(self._objects))

    def _spelled(self, key: Any) -> Any:
        """Return a key of `Canonical` as JSON. Objects compared by identity have numbers."""
        if key is None or isinstance(key, str | bool | int):
            return key
        if isinstance(key, bytes):
            return {"bytes": key.hex()}
        if isinstance(key, np.dtype):
            return {"dtype": str(key)}
        if isinstance(key, frozenset):
            return {"set": sorted((self._spelled(each) for each in key), key=json.dumps)}
        if not isinstance(key, tuple):
            return {"object": self._object(("equal", type(key), key), key), "is": str(key)}
        if len(key) == 2 and key[0] in _PLAIN:
            return key[1]
        if len(key) == 4 and key[0] == "array" and key[2] == () and key[1].kind in "iu":
            return int(np.frombuffer(key[3], key[1])[0])
        if key and key[0] == "identity":
            return {"object": self._object(key[1], None), "is": self._name(key[1])}
        if len(key) == 2 and key[0] == "jaxpr":
            return {"jaxpr": key[1][1]}
        if len(key) == 2 and isinstance(key[0], tuple) and key[0][:1] == ("identity",) and isinstance(key[1], tuple):
            kind = self._name(key[0][1])
            if key[0][1] in self._fields:
                named = zip(self._fields[key[0][1]], key[1], strict=True)
                return {"is": kind, "fields": {name: self._spelled(each) for name, each in named}}
            if kind in ("builtins.tuple", "builtins.list"):
                return {kind.partition(".")[2]: [self._spelled(each) for each in key[1]]}
        return [self._spelled(each) for each in key]

    def _name(self, number: int) -> str:
        for each in self._alive[self._named :]:
            kind = each if hasattr(each, "__qualname__") else type(each)
            self._names.setdefault(id(each), f"{getattr(kind, '__module__', '')}.{kind.__qualname__}")
            if isinstance(each, type) and issubclass(each, tuple) and hasattr(each, "_fields"):
                self._fields[id(each)] = each._fields
        self._named = len(self._alive)
        return self._names.get(number, "")


def _needed(jaxpr: Any) -> list[Any]:
    """Return the equations that an output or an effect needs."""
    needed = {id(atom) for atom in jaxpr.outvars}
    found = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(id(variable) in needed for variable in equation.outvars):
            found.append(equation)
            needed |= {id(atom) for atom in equation.invars}
    return found[::-1]


def _named(dtype: Any) -> str:
    """Return the name of a dtype; cotangents of integers have an empty structure in some versions of jax."""
    names = getattr(dtype, "names", None)
    return str(names[0]) if names else str(dtype)


def _written(array: np.ndarray[Any, Any]) -> tuple[str, str]:
    """Serialise a constant: one number for all elements, every byte, or a digest of them."""
    raw, width = array.tobytes(), array.dtype.itemsize
    if array.size and raw == raw[:width] * array.size:
        return "all", raw[:width].hex()
    if len(raw) > BY_VALUE:
        return "sha256", hashlib.sha256(raw).hexdigest()
    return "bytes", base64.b64encode(raw).decode()
