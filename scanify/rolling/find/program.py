"""A jaxpr as one flat list of operations: calls by `jit` that only give a name are taken apart, dead code is left out.

So it makes no difference whether layers live inside of a jitted function, which names such functions have, and what
they are handed and never read. What has a meaning beside its value stays one operation: `checkpoint`, functions with
derivatives of their own, loops, and calls that place or donate anything.
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

# What has more operands here than there, or may be a part of an array.
_LOOKED_INTO = {"slice", "squeeze", "checkpoint", "remat", "remat2"}

# The parameters of a call by `jit` that is nothing but its jaxpr, with what they must be.
_PLAIN = {"keep_unused": (False,), "compiler_options_kvs": ((),)}
_PLACED = ("in_shardings", "out_shardings", "in_layouts", "out_layouts")


@dataclass(frozen=True, eq=False, slots=True)
class Number:
    """A number that stands in a program: a scalar operand, or where a static slice starts along an axis."""

    value: Any
    aval: Any

    @property
    def bits(self) -> Any:
        """What two of them have in common where they are the same; 0.0 is not -0.0, nor 0."""
        if isinstance(self.aval.dtype, np.dtype):
            return self.aval.dtype, np.asarray(self.value, self.aval.dtype).tobytes()
        return id(self.value)


# An operand: the number of a value, or a number that stands in the program.
Atom: TypeAlias = int | Number


class Call:
    """A call by `jit` that is taken apart, and the one that it is in; `depth` says in how many."""

    __slots__ = ("depth", "equation", "within")

    def __init__(self, equation: Any, within: Call | None) -> None:
        self.equation, self.within = equation, within
        self.depth: int = 0 if within is None else within.depth + 1


@dataclass(
    eq=False, slots=True
)  # not frozen: there are many of them, and a frozen one takes three times as long to make
class Operation:
    """An equation with its operands and results as values of the whole program, and the call that it is in.

    Of a slice without strides the starts are operands too, after what is sliced. So are the numbers that stand inside
    of a `checkpoint`, after what it is given: `inside` is what else there is in it, and where they stand.
    """

    equation: Any
    inputs: tuple[Atom, ...]
    outputs: tuple[int, ...]
    inside: Skeleton | None = None
    call: Call | None = None


@dataclass(eq=False)
class Program:
    """Operations in their order. Values are numbered: first the inputs, which the constants of the jaxpr precede."""

    avals: list[Any] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[Atom] = field(default_factory=list)
    starts: dict[tuple[int, ...], tuple[Number, ...]] = field(default_factory=dict)
    known: Known = field(default_factory=Known)
    plain: dict[tuple[int, ...], tuple[bool, list[Any]]] = field(default_factory=dict)
    rematted: dict[int, tuple[Any, list[bool], Skeleton]] = field(default_factory=dict)
    views: dict[int, Operation] = field(default_factory=dict)  # what are parts of arrays, and how they are made

    @cached_property
    def calls(self) -> Counter[Call]:
        """The calls that are taken apart, with how many operations are in each."""
        found: Counter[Call] = Counter()
        for operation in self.operations:
            call = operation.call
            while call is not None:
                found[call] += 1
                call = call.within
        return found

    def value(self, aval: Any) -> int:
        """A new value."""
        self.avals.append(aval)
        return len(self.avals) - 1


def flat(jaxpr: Any) -> Program:
    """The flat program of an open jaxpr, whose constants are inputs like any other, and come first."""
    program = Program()
    program.inputs = [program.value(variable.aval) for variable in (*jaxpr.constvars, *jaxpr.invars)]
    known: dict[Any, Atom] = dict(zip((*jaxpr.constvars, *jaxpr.invars), program.inputs, strict=True))
    program.outputs = _read(program, jaxpr, known)
    _drop_dead(program)
    return program


def _read(program: Program, jaxpr: Any, known: dict[Any, Atom], call: Call | None = None) -> list[Atom]:
    """Append the operations of a jaxpr; its results. It runs for every equation of a trace, so it asks for little."""
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
    """`is_plain_call`, asked once for all equations that have the same parameters."""
    said = [equation.ctx, *equation.params.values()]
    key = tuple(map(id, said))
    if key not in program.plain:
        program.plain[key] = is_plain_call(equation), said  # which live, so that no others have their identity
    return program.plain[key][0]


def is_plain_slice(equation: Any) -> bool:
    """Whether an equation is a slice without strides, of which `xs[3]` is one."""
    if equation.primitive.name != "slice" or not is_own(equation.primitive):
        return False
    strides = equation.params["strides"]
    return strides is None or all(stride == 1 for stride in strides)


def is_view(equation: Any) -> bool:
    """Whether an equation gives a part of an array, as it is: `xs[3]` is a slice and what squeezes it."""
    name = equation.primitive.name
    return (name == "squeeze" and is_own(equation.primitive)) or is_plain_slice(equation)


def is_remat(equation: Any) -> bool:
    """Whether an equation is a call of `jax.checkpoint`."""
    return equation.primitive.name in ("checkpoint", "remat", "remat2") and is_own(equation.primitive)


def _rematted(program: Program, equation: Any, given: list[Atom]) -> tuple[Any, list[Atom], Skeleton]:
    """A `checkpoint` without what it is given and does not read, with its numbers as operands."""
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
    """An open jaxpr without its dead equations and the inputs that no other reads, and which inputs it reads.

    jax's own way to leave them out (`dce_jaxpr`) wraps derivative rules, so that they are equal to no others.
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
    """Whether an equation computes what the jaxpr of a `jit` does and says nothing else: no donation, no placement."""
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
    """Leave out what no result needs and that has no effect."""
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
