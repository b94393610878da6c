"""Number equations so that equal numbers mean that two equations differ at most in their operands.

The key of an equation consists of its primitive, its parameters, the avals of its operands and results, and its tracing
context. This is stricter than the prover, which compares values only: equations share a scan body only if they also
have the same derivatives, names, policies, placement and precision, so the jaxprs in their parameters are compared
equation by equation. Function names, source locations and weak types are ignored.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from scanify.jaxpr.primitives import EACH, SPREAD
from scanify.jaxpr.reading.calls import opened
from scanify.jaxpr.reading.canonical import Canonical, NotUnderstood
from scanify.nn.programs.derivative_rules import RULES, WITH_RULES, rule_key
from scanify.nn.programs.skeleton import const_key
from scanify.rolling.find.program import Operation, Program, is_plain_call, is_plain_slice

# Elementwise operations: the result determines the shape, and an operand may be a scalar.
_ANY_SHAPE = EACH | SPREAD

# Parameters that only name a call.
_NAMES = ("name",)

# Parameters of `scan` in jax 0.12 that describe which operands are carried; they are new objects for each scan.
_CARRIED = {"ft_in", "ft_out"}


class Signatures:
    """Numbers for the equations of one program. Every object whose id is part of a key is kept alive."""

    def __init__(self) -> None:
        self.alive: list[Any] = []
        self._numbers: dict[Hashable, int] = {}
        self._avals: dict[int, int] = {}
        self._contexts: dict[int, Any] = {}
        self._references: set[int] = set()
        self._dtypes: dict[int, int] = {}
        self._params: dict[Hashable, int] = {}
        self._objects: dict[int, Hashable] = {}
        self._jaxprs: dict[int, Hashable] = {}
        self._canonical = Canonical(self._jaxpr, self.alive)

    def of(self, program: Program) -> list[int]:
        """Return the number of each operation."""
        avals = [self.aval(aval) for aval in program.avals]
        return [self._operation(avals, operation) for operation in program.operations]

    def _operation(self, avals: list[int], operation: Operation) -> int:
        equation = operation.equation
        try:
            params = self._parameters(equation, operation)
        except NotUnderstood:
            return self._number(object())
        inputs = [avals[atom] if type(atom) is int else self.aval(atom.aval) for atom in operation.inputs]  # type: ignore[union-attr]
        outputs = [avals[value] for value in operation.outputs]
        if self._references and not self._references.isdisjoint((*inputs, *outputs)):
            return self._number(object())  # a reference is not a value: it can be neither carried nor stacked
        if id(equation.ctx) not in self._contexts:  # equal contexts are the same object
            self._contexts[id(equation.ctx)] = equation.ctx
        if equation.primitive.name in _ANY_SHAPE:
            inputs = [self._dtypes[number] for number in inputs]
        return self._number((id(equation.primitive), id(equation.ctx), params, tuple(inputs), tuple(outputs)))

    def aval(self, aval: Any) -> int:
        """Return the number of an aval: its shape, dtype, sharding and everything else but the weak type."""
        known = self._avals.get(id(aval))
        if known is None:
            strong = aval.strip_weak_type() if hasattr(aval, "strip_weak_type") else aval
            known = self._number(("aval", type(strong), strong))
            if "Ref" in type(aval).__name__:
                self._references.add(known)
            self._dtypes[known] = self._number(("dtype", getattr(aval, "dtype", None)))
            self.alive.append(aval)
            self._avals[id(aval)] = known
        return known

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _parameters(self, equation: Any, operation: Operation | None) -> Hashable:
        """Return the key of an equation's parameters, computed once for equations with the same parameter objects.

        For an operation, parameters that became operands are excluded.

        Raises:
            NotUnderstood: the meaning of a parameter is unknown.
        """
        params = equation.params
        if not params:
            return ()
        if operation is not None and is_plain_slice(equation):
            return ()  # the avals determine its sizes, and its starts are operands
        if operation is not None and operation.inside is not None:
            params = {name: value for name, value in params.items() if name != "jaxpr"}
            others = tuple((name, self._object(params[name])) for name in sorted(params))
            return self._number((operation.inside.key, others))
        which = (equation.primitive.name, *[_identity(value) for value in params.values()])
        known = self._params.get(which)
        if known is None:
            self.alive.append(list(params.values()))
            known = self._number(("params", tuple(params), self._read(equation)))
            self._params[which] = known
        return known

    def _read(self, equation: Any) -> Hashable:
        name, params = equation.primitive.name, dict(equation.params)
        rules: Hashable = None
        if name in WITH_RULES:
            rules = rule_key(equation, self._object)
            params = {key: value for key, value in params.items() if key not in RULES}
        elif name == "convert_element_type":
            params.pop("weak_type", None)
        elif is_plain_call(equation) or name in ("jit", "pjit"):
            params = {key: value for key, value in params.items() if key not in _NAMES}
        elif name == "scan":
            for key in _CARRIED & params.keys():
                params[key] = tuple(map(len, params[key].unpack()))
        return (rules, tuple((key, self._object(params[key])) for key in sorted(params)))

    def _object(self, value: Any) -> Hashable:
        """Return the key of a parameter. Jaxprs, meshes and similar objects are shared by many equations."""
        if value is None or type(value) in (str, bool, int):
            return (type(value).__name__, value)
        if id(value) not in self._objects:
            self.alive.append(value)
            self._objects[id(value)] = self._number(("object", self._canonical.key(value)))
        return self._objects[id(value)]

    def _jaxpr(self, jaxpr: Any) -> Hashable:
        """Return the key of a jaxpr in a parameter, including all constants."""
        if id(jaxpr) not in self._jaxprs:
            self.alive.append(jaxpr)
            self._jaxprs[id(jaxpr)] = self._number(("jaxpr", self._equations(*opened(jaxpr))))
        return self._jaxprs[id(jaxpr)]

    def _equations(self, jaxpr: Any, consts: Any) -> Hashable:
        numbers: dict[Any, Hashable] = {}
        if consts:
            for variable, const in zip(jaxpr.constvars, consts, strict=True):
                self.alive.append(const)
                numbers[variable] = (const_key(const), self.aval(variable.aval))
        else:
            for variable in jaxpr.constvars:
                numbers[variable] = (len(numbers), self.aval(variable.aval))
        for variable in jaxpr.invars:
            numbers[variable] = (len(numbers), self.aval(variable.aval))

        def atom(each: Any) -> Hashable:
            if not hasattr(each, "val"):
                return numbers[each]
            if not isinstance(each.aval.dtype, np.dtype):
                self.alive.append(each.val)
                return ("literal", self.aval(each.aval), id(each.val))
            return ("literal", self.aval(each.aval), np.asarray(each.val, each.aval.dtype).tobytes())

        rows = []
        for equation in jaxpr.eqns:
            operands = tuple(map(atom, equation.invars))
            params = self._parameters(equation, None)
            outputs = tuple(self.aval(variable.aval) for variable in equation.outvars)
            for variable in equation.outvars:
                numbers[variable] = len(numbers)
            self._contexts[id(equation.ctx)] = equation.ctx
            rows.append(self._number((id(equation.primitive), id(equation.ctx), params, operands, outputs)))
        return (len(jaxpr.invars), tuple(rows), tuple(map(atom, jaxpr.outvars)))


def _identity(value: Any) -> Hashable:
    """Return a cheap key for values that are recreated for each equation, or else the id."""
    if value is None or type(value) in (str, bool, int):
        return (type(value), value)
    if type(value) is tuple and all(type(one) is int for one in value):
        return value
    return id(value)
