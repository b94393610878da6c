"""Sums with zeros among forward derivatives.

jax leaves out the tangent of what does not change, so the first layer of a loop that adds up a loss has the tangent of
its own term; a scan carries zeros from the start and adds the term to them. The two differ in the sign of a zero alone
(0.0 + -0.0 is 0.0). Tangents are linear in the tangents of the inputs, and no tangent is divided by or looked at, so
the sign reaches no other value. That holds for what depends on a tangent of an input, and for nothing else: the values
themselves are in the same program, and 1 / (x + 0.0) is not 1 / x.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering


def without_zeros(numbering: "Numbering", name: str, inputs: list[int]) -> list[int] | None:
    """The tangent that zeros are added to, or that they are subtracted from; None where it is no such sum."""
    table = numbering.table
    if name not in ("add", "sub") or len(inputs) != 2:
        return None
    first, second = inputs
    if table.is_zero(second) and is_derivative(numbering, first):
        return [first]
    if name == "add" and table.is_zero(first) and is_derivative(numbering, second):
        return [second]
    return None


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
