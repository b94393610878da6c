"""Sums with zeros among forward derivatives.

jax leaves out the tangent of what does not change, so the first layer of a loop that adds up a loss has the tangent of
its own term; a scan carries zeros from the start and adds the term to them. The two differ in the sign of a zero alone
(0.0 + -0.0 is 0.0). Tangents are linear in the tangents of the inputs, so the sign reaches no other value. That holds
for what depends on a tangent of an input, and for nothing else: the values themselves are in the same program, and
1 / (x + 0.0) is not 1 / x. A rule that somebody wrote may divide by a tangent all the same: then zeros are kept
(`shows_sign`).
"""

from typing import TYPE_CHECKING, Any

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


def shows_sign(numbering: "Numbering", name: str, params: dict[str, Any], inputs: list[int]) -> bool:
    """Whether an operation gives something else, beside a zero of the other sign, for a derivative that is -0.0."""
    places = range(len(inputs)) if name.endswith(("callback", "ffi_call")) else SHOWING.get(name, ())
    if name == "integer_pow" and params["y"] >= 0:
        return False
    return any(is_derivative(numbering, inputs[place]) for place in places)


# The operands of which the sign of a zero shows.
SHOWING: dict[str, tuple[int, ...]] = {
    "atan2": (0, 1),
    "bitcast_convert_type": (0,),
    "digamma": (0,),
    "div": (1,),
    "integer_pow": (0,),
    "nextafter": (0, 1),
    "pow": (0,),
    "rem": (1,),
    "rsqrt": (0,),
}


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
