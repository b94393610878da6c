"""Sums with zeros among forward derivatives.

jax leaves out the tangent of what does not change, so the first layer of a loop that adds up a loss has the tangent of
its own term; a scan carries zeros from the start and adds the term to them. The two differ in the sign of a zero alone
(0.0 + -0.0 is 0.0). Tangents are linear in the tangents of the inputs, so the sign reaches no other value. That holds
for what depends on a tangent of an input, and for nothing else: the values themselves are in the same program, and
1 / (x + 0.0) is not 1 / x. A rule that somebody wrote may divide by a tangent all the same: then zeros are kept
(`shows_sign`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanify.jaxpr.primitives import LINEAR, REAL
from scanify.jaxpr.reading.calls import callee, children, opened

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering


def without_zeros(numbering: "Numbering", name: str, inputs: list[int]) -> list[int] | None:
    """The tangent that zeros are added to, or that they are subtracted from; None where it is no such sum."""
    table = numbering.table
    if name not in ("add", "sub") or len(inputs) != 2:
        return None
    first, second = inputs
    if table.is_zero(second) and is_derivative(numbering, first):
        numbering.dropped_zeros = True
        return [first]
    if name == "add" and table.is_zero(first) and is_derivative(numbering, second):
        numbering.dropped_zeros = True
        return [second]
    return None


def shows_sign(numbering: "Numbering", equation: Any, inputs: list[int]) -> bool:
    """Whether an operation may give something else, beside a zero of the other sign, for a derivative that is -0.0.

    What has jaxprs inside is taken apart, or is another question (`shows_sign_inside`).
    """
    if children(equation):
        return False
    marked = [is_derivative(numbering, value) for value in inputs]
    return any(marked) and _shows(equation, marked)


def shows_sign_inside(numbering: "Numbering", equation: Any, inputs: Sequence[int]) -> bool:
    """The same of an operation that is kept as a whole, with the jaxprs that it runs."""
    if not children(equation):
        return False
    marked = [is_derivative(numbering, value) for value in inputs]
    return any(marked) and _marks(equation, marked) is None


def _shows(equation: Any, marked: Sequence[bool]) -> bool:
    """Whether an operation without jaxprs inside shows the sign of a zero among the operands that are marked."""
    name = equation.primitive.name
    places = [place for place, mark in enumerate(marked) if mark]
    if any(np.issubdtype(_dtype(equation.invars[place]), np.complexfloating) for place in places):
        return name not in LINEAR
    if name == "integer_pow":
        return bool(equation.params["y"] < 0)
    if name in ("div", "rem"):
        return 1 in places
    if name == "triangular_solve":
        return 0 in places
    return name not in LINEAR and name not in REAL


def _dtype(atom: Any) -> Any:
    dtype = getattr(atom.aval, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else np.dtype(np.bool_)


def _marks(equation: Any, marked: Sequence[bool]) -> list[bool] | None:
    """Which outputs depend on the operands that are marked; None where the sign of a zero in those shows."""
    count = len(equation.outvars)
    if not any(marked):
        return [False] * count
    inner = [opened(child)[0] for child in children(equation)]
    if not inner:
        return None if _shows(equation, marked) else [True] * count
    name = equation.primitive.name
    if name == "cond":
        return None if marked[0] else _through(inner, [list(marked[1:])] * len(inner), count)
    if name == "scan":
        return _through_loop(inner[0], list(marked), equation.outvars)
    if name == "while":
        return _through_while(equation, list(marked))
    if name in ("reduce_sum", "cumsum", "scatter-add", "scatter_add"):
        return [True] * count
    fits = len(inner) == 1 and len(inner[0].invars) == len(marked) and len(inner[0].outvars) == count
    called = name == "shard_map" or callee(equation) is not None
    return _through(inner, [list(marked)], count) if fits and called else None


def _through(jaxprs: list[Any], given: list[list[bool]], count: int) -> list[bool] | None:
    found = [False] * count
    for jaxpr, marks in zip(jaxprs, given, strict=True):
        out = _run(jaxpr, marks)
        if out is None:
            return None
        found = [a or b for a, b in zip(found, out, strict=True)]
    return found


def _run(jaxpr: Any, marks: list[bool]) -> list[bool] | None:
    """The marks of the outputs of a jaxpr, given those of its inputs."""
    held = dict(zip(jaxpr.invars, marks, strict=True))

    def read(atom: Any) -> bool:
        return False if hasattr(atom, "val") else held.get(atom, False)

    for equation in jaxpr.eqns:
        out = _marks(equation, [read(atom) for atom in equation.invars])
        if out is None:
            return None
        held.update(zip(equation.outvars, out, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _through_loop(body: Any, marks: list[bool], outvars: Any) -> list[bool] | None:
    """A scan: with every operand marked that may become so; which are carried is not asked."""
    everything = [True] * len(marks) if any(marks) else marks
    out = _run(body, marks)
    if out is not None and any(out):
        out = _run(body, everything)
    return out if out is None else [any(out)] * len(outvars)


def _through_while(equation: Any, marks: list[bool]) -> list[bool] | None:
    parts = [opened(equation.params[name])[0] for name in ("cond_jaxpr", "body_jaxpr")]
    if any(_run(part, [True] * len(part.invars)) is None for part in parts):
        return None
    return [True] * len(equation.outvars)


def loosen(numbering: "Numbering", value: int) -> None:
    """From now on the value counts as one whose zeros have no sign."""
    numbering.moved[value] = True


def is_derivative(numbering: "Numbering", value: int) -> bool:
    """Whether a value depends on a tangent of an input, or on a cotangent of an output."""
    table, known = numbering.table, numbering.moved
    waiting = [value]
    while waiting:
        node = waiting[-1]
        if node not in known and _is_given(numbering, node):
            known[node] = True
        unknown = [below for below in table.inputs[node] if below not in known] if node not in known else []
        if unknown:
            waiting += unknown
            continue
        known.setdefault(node, any(known[below] for below in table.inputs[node]))
        waiting.pop()
    return known[value]


def _is_given(numbering: "Numbering", node: int) -> bool:
    place = numbering.table.params[node]
    return numbering.table.op[node] == "input" and (place in numbering.tangents or place in numbering.cotangents)
