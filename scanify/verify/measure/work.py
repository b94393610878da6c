"""The work of a traced program: its operations, and the bytes it copies between device and host memory.

The cost of a remat policy is recomputed operations. XLA's own count (`cost_analysis`) counts the body of a loop once,
however often it runs (`HloCostAnalysis::HandleWhile`), so that a scan costs as much as one layer. Here a scan counts as
often as it is long. The count is read from the jaxpr, so it is the same on every backend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.calls import callee, children

# Primitives that move elements, or compute their places, without arithmetic.
_MOVES = frozenset(
    "broadcast_in_dim concatenate convert_element_type copy copy_p device_put dynamic_slice dynamic_update_slice "
    "expand_dims gather iota name optimization_barrier pad reshape rev select_and_gather_add sharding_constraint slice "
    "split squeeze stop_gradient transpose unstack".split()
)


@dataclass(frozen=True)
class Work:
    """`flops`: one for each element of each result, two for each product of a contraction; `moved`: bytes copied
    between device and host memory."""

    flops: int = 0
    moved: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.moved + other.moved)

    def times(self, count: int) -> Work:
        return Work(self.flops * count, self.moved * count)


def work(closed: ClosedJaxpr) -> Work:
    """Return the work of a program, without unused equations.

    A branch counts as the most costly one, a `while` loop of unknown length as one iteration. A jaxpr that several
    equations share is counted once and added for each.
    """
    return _jaxpr(closed.jaxpr, {})


def _jaxpr(jaxpr: Any, known: dict[int, tuple[Any, Work]]) -> Work:
    if id(jaxpr) not in known:
        total = Work()
        for equation in _used(jaxpr):
            total += _equation(equation, known)
        known[id(jaxpr)] = (jaxpr, total)  # with the jaxpr, so that its id is not reused
    return known[id(jaxpr)][1]


def _used(jaxpr: Any) -> list[Any]:
    """Return the equations that the outputs depend on, and those with an effect, last first."""
    needed = {id(var) for var in jaxpr.outvars}
    found = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or any(id(var) in needed for var in equation.outvars):
            needed.update(id(var) for var in equation.invars)
            found.append(equation)
    return found


def _equation(equation: Any, known: dict[int, tuple[Any, Work]]) -> Work:
    name = equation.primitive.name
    called = callee(equation)
    if called is not None:
        return _jaxpr(called[0], known)
    inner = [] if name.startswith(("scatter", "reduce")) else children(equation)
    if inner:
        each = [_jaxpr(getattr(jaxpr, "jaxpr", jaxpr), known) for jaxpr in inner]
        if name == "cond":
            return max(each, key=lambda one: (one.flops, one.moved))
        return sum(each, Work()).times(equation.params["length"] if name == "scan" else 1)
    if name == "device_put":
        return Work(0, sum(_crossing(a.aval, b.aval) for a, b in zip(equation.invars, equation.outvars, strict=True)))
    return Work(_flops(equation, name))


def _crossing(source: Any, target: Any) -> int:
    """Return the bytes of an array that moves between memory spaces."""
    spaces = [getattr(aval, "memory_space", None) for aval in (source, target)]
    size: int = target.dtype.itemsize
    return 0 if spaces[0] == spaces[1] else _size(target) * size


def _flops(equation: Any, name: str) -> int:
    results = sum(_size(var.aval) for var in equation.outvars)
    if name in _MOVES:
        return 0
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2 * results * _product([shape[axis] for axis in contracted])
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features: int = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
        return 2 * results * _product(kernel) // max(1, features)
    if name.startswith("scatter"):
        return _size(equation.invars[2].aval)  # the updates; the rest of the operand is not moved
    if name.startswith(("reduce", "arg", "cum", "sort")):
        return max([results, *(_size(var.aval) for var in equation.invars)])
    return results


def _size(aval: Any) -> int:
    return _product(getattr(aval, "shape", ()))


def _product(sizes: Sequence[Any]) -> int:
    return math.prod(int(size) for size in sizes)
