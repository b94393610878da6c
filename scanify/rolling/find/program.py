"""A jaxpr as a flat list of operations: plain calls by `jit` are inlined, and dead code is removed.

So it does not matter whether layers are in a jitted function, what such functions are called, and which unused
arguments they take. Equations with a meaning beyond their value stay one operation: `checkpoint`, functions with custom
derivatives, loops, and calls with a placement or donation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import jax
import numpy as np
from jax.extend.core import Literal, Var

from scanify.jaxpr.reading.calls import opened
from scanify.jaxpr.reading.primitives import is_own
from scanify.nn.programs.skeleton import Constant, Known, Skeleton, live, skeleton

_CALLS = ("jit", "pjit")

# Primitives that get more operands here, or that may be views of an array.
_LOOKED_INTO = {"slice", "squeeze", "checkpoint", "remat", "remat2"}

# Parameters of a `jit` call that is equivalent to its jaxpr, with their required values.
_PLAIN = {"keep_unused": (False,), "compiler_options_kvs": ((),)}
_PLACED = ("in_shardings", "out_shardings", "in_layouts", "out_layouts")


@dataclass(frozen=True, eq=False, slots=True)
class Number:
    """A constant in a program: a scalar operand, or the start of a static slice along an axis."""

    value: Any
    aval: Any

    @property
    def bits(self) -> Any:
        """A key that is equal for equal numbers; 0.0 differs from -0.0 and from 0."""
        if isinstance(self.aval.dtype, np.dtype):
            return self.aval.dtype, np.asarray(self.value, self.aval.dtype).tobytes()
        return id(self.value)


# An operand: the number of a value, or a constant.
Atom: TypeAlias = int | Number


class Call:
    """An inlined call by `jit`, and the call that contains it; `depth` is the nesting depth."""

    __slots__ = ("depth", "equation", "within")

    def __init__(self, equation: Any, within: Call | None) -> None:
        self.equation, self.within = equation, within
        self.depth: int = 0 if within is None else within.depth + 1


@dataclass(
    eq=False, slots=True
)  # not frozen, since there are many of them and a frozen one takes three times as long to create
class Operation:
    """An equation with its operands and results as values of the whole program, and the call that contains it.

    For a slice without strides, the starts become further operands. For a `checkpoint`, so do the constants inside of
    it; `inside` is the rest of it, and the positions of the constants.
    """

    equation: Any
    inputs: tuple[Atom, ...]
    outputs: tuple[int, ...]
    inside: Skeleton | None = None
    call: Call | None = None


@dataclass(eq=False)
class Program:
    """Operations in order. Values are numbered: first the constants of the jaxpr, then its inputs, then results."""

    avals: list[Any] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[Atom] = field(default_factory=list)
    starts: dict[tuple[int, ...], tuple[Number, ...]] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    plain: dict[tuple[int, ...], tuple[bool, list[Any]]] = field(default_factory=dict)
    rematted: dict[int, tuple[Any, list[bool], Skeleton]] = field(default_factory=dict)
    views: dict[int, Operation] = field(default_factory=dict)  # views of arrays, with the operations that make them

    @cached_property
    def calls(self) -> Counter[Call]:
        """The inlined calls, with the number of operations in each."""
        found: Counter[Call] = Counter()
        for operation in self.operations:
            call = operation.call
            while call is not None:
                found[call] += 1
                call = call.within
        return found

    def value(self, aval: Any) -> int:
        """Add a value."""
        self.avals.append(aval)
        return len(self.avals) - 1


def flat(jaxpr: Any) -> Program:
    """Return the flat program of an open jaxpr; its constants become the first inputs."""
    program = Program()
    program.inputs = [program.value(variable.aval) for variable in (*jaxpr.constvars, *jaxpr.invars)]
    known: dict[Any, Atom] = dict(zip((*jaxpr.constvars, *jaxpr.invars), program.inputs, strict=True))
    program.outputs = _read(program, jaxpr, known)
    _drop_dead(program)
    return program


def _read(program: Program, jaxpr: Any, known: dict[Any, Atom], call: Call | None = None) -> list[Atom]:
    """Append the operations of a jaxpr and return its results. This must be fast: it visits every equation."""
    numbers: dict[int, Number] = {}
    avals, operations = program.avals, program.operations

    def atom(each: Any) -> Atom:
        if type(each) is not Literal:
            return known[each]
        if id(each) not in numbers:
            numbers[id(each)] = Number(each.val, each.aval)
        return numbers[id(each)]

    for equation in jaxpr.eqns:
        given = [known[each] if type(each) is Var else atom(each) for each in equation.invars]
        name = equation.primitive.name
        if name in _CALLS and _is_plain(program, equation):
            inner, consts = opened(equation.params["jaxpr"])
            bound: dict[Any, Atom] = dict(zip(inner.invars, given, strict=True))
            bound.update((v, Number(c, v.aval)) for v, c in zip(inner.constvars, consts, strict=True))
            known.update(zip(equation.outvars, _read(program, inner, bound, Call(equation, call)), strict=True))
            continue
        first = len(avals)
        for value, variable in enumerate(equation.outvars, first):
            avals.append(variable.aval)
            known[variable] = value
        outputs = tuple(range(first, len(avals)))
        inside = None
        if name in _LOOKED_INTO:
            if is_plain_slice(equation):
                given += _starts(program, equation.params["start_indices"])
            elif is_remat(equation):
                equation, given, inside = _rematted(program, equation, given)
        operations.append(Operation(equation, tuple(given), outputs, inside, call))
        if name in _LOOKED_INTO and is_view(equation):
            program.views[outputs[0]] = operations[-1]
    return [atom(each) for each in jaxpr.outvars]


def _is_plain(program: Program, equation: Any) -> bool:
    """`is_plain_call`, cached for equations with the same parameters."""
    said = [equation.ctx, *equation.params.values()]
    key = tuple(map(id, said))
    if key not in program.plain:
        program.plain[key] = is_plain_call(equation), said  # kept alive, so that no other object gets their id
    return program.plain[key][0]


def is_plain_slice(equation: Any) -> bool:
    """True for a slice without strides, such as `xs[3]`."""
    if equation.primitive.name != "slice" or not is_own(equation.primitive):
        return False
    strides = equation.params["strides"]
    return strides is None or all(stride == 1 for stride in strides)


def is_view(equation: Any) -> bool:
    """True if an equation returns a part of an array unchanged: `xs[3]` is a slice and a squeeze."""
    name = equation.primitive.name
    return (name == "squeeze" and is_own(equation.primitive)) or is_plain_slice(equation)


def is_remat(equation: Any) -> bool:
    """True for a call of `jax.checkpoint`."""
    return equation.primitive.name in ("checkpoint", "remat", "remat2") and is_own(equation.primitive)


def _rematted(program: Program, equation: Any, given: list[Atom]) -> tuple[Any, list[Atom], Skeleton]:
    """Return a `checkpoint` without unused operands, with its constants as operands."""
    jaxpr = equation.params["jaxpr"]
    if id(jaxpr) not in program.rematted:
        lean, read = _lean(jaxpr, program.known)
        program.rematted[id(jaxpr)] = lean, read, skeleton(lean, (), known=program.known)
    lean, read, inside = program.rematted[id(jaxpr)]
    invars = [variable for variable, used in zip(equation.invars, read, strict=True) if used]
    operands = [atom for atom, used in zip(given, read, strict=True) if used]
    operands += [_number(constant) for constant in inside.constants]
    return equation.replace(invars=invars, params={**equation.params, "jaxpr": lean}), operands, inside


def _lean(jaxpr: Any, known: Known) -> tuple[Any, list[bool]]:
    """Remove dead equations and unused inputs from an open jaxpr; also return which inputs are used.

    jax's own `dce_jaxpr` wraps derivative rules, so that they are not equal to any others.
    """
    alive, _ = live(jaxpr, [True] * len(jaxpr.outvars), known)
    equations = [jaxpr.eqns[at] for at in sorted(alive)]
    used = {id(atom) for equation in equations for atom in equation.invars} | set(map(id, jaxpr.outvars))
    read = [id(variable) in used for variable in jaxpr.invars]
    invars = [variable for variable, is_read in zip(jaxpr.invars, read, strict=True) if is_read]
    return jaxpr.replace(eqns=equations, invars=invars), read


def _number(constant: Constant) -> Number:
    return Number(constant.value, jax.core.ShapedArray((), constant.value.dtype, weak_type=constant.weak_type))


def is_plain_call(equation: Any) -> bool:
    """True if a `jit` call is equivalent to its jaxpr, without donation or placement."""
    if equation.primitive.name not in _CALLS or not is_own(equation.primitive):
        return False
    params = equation.params
    inner, consts = opened(params["jaxpr"])
    return (
        all(params.get(name, values[0]) in values for name, values in _PLAIN.items())
        and not any(params.get("donated_invars", ()))
        and getattr(params.get("inline"), "value", "") != "never"
        and not getattr(equation.ctx, "xla_metadata", None)
        and all(_is_unspecified(one) for name in _PLACED for one in params.get(name, ()))
        and getattr(params.get("ctx_mesh"), "empty", True)
        and len(inner.constvars) == len(consts)
        and all(np.ndim(const) == 0 for const in consts)
    )


def _is_unspecified(given: Any) -> bool:
    return given is None or type(given).__name__ == "UnspecifiedValue"


def _starts(program: Program, starts: Sequence[int]) -> tuple[Number, ...]:
    key = tuple(starts)
    if key not in program.starts:
        program.starts[key] = tuple(Number(np.int32(start), _START) for start in starts)
    return program.starts[key]


_START = jax.core.ShapedArray((), np.dtype(np.int32))


def _drop_dead(program: Program) -> None:
    """Remove operations that no result needs and that have no effect."""
    needed = bytearray(len(program.avals))
    for atom in program.outputs:
        if type(atom) is int:
            needed[atom] = 1
    kept = []
    for operation in reversed(program.operations):
        for output in operation.outputs:
            if needed[output]:
                break
        else:
            if not operation.equation.effects:
                continue
        kept.append(operation)
        for atom in operation.inputs:
            if type(atom) is int:
                needed[atom] = 1
    program.operations = kept[::-1]
