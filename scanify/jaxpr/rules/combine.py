"""Normal forms of two operations that work row by row: sums of cotangents, and a choice between branches.

Both are pushed into concatenations piece by piece, so that the result for a layer's row is found as a row.
"""

from collections.abc import Callable, Sequence

from scanify.jaxpr.rules.shapes import Bounds, full, solid
from scanify.jaxpr.rules.views import (
    JOIN_THROUGH,
    SLICE_THROUGH,
    axis_of,
    concat,
    cut,
    join,
    oriented,
    peel,
    reshape,
    transpose,
    turned,
)
from scanify.jaxpr.table import Table


def add_any(table: Table, values: Sequence[int]) -> int:
    """Return the sum of cotangents of one value, as a multiset: without order, association and zeros.

    This is the only identity here that rounding can reveal (and the sign of a zero: 0.0 + -0.0 is 0.0). jax specifies
    no order for the accumulation of cotangents (`add_any` in `jax._src.ad_util`), and a scan accumulates them in a
    carry that starts from zeros, where a loop adds them up directly. It holds for the primitive `add_any`, which user
    code cannot emit, and for sums made by jax's own transposition; a custom backward rule keeps its order
    (`scanify.jaxpr.reading.user_rules.Enclosing`). It holds for values computed from cotangents of outputs: if a call
    computes gradients itself, for example of an energy, their rounded sum is part of its result (`plain_sum`). `add` is
    never reordered.
    """
    shape, dtype = table.shape[values[0]], table.dtype[values[0]]
    terms: list[int] = []
    for value in values:
        core = reshape(table, value, solid(shape))
        terms += _terms(table, core)
    zeros = [term for term in terms if table.is_zero(term)]
    terms = sorted(term for term in terms if not table.is_zero(term))
    if not terms:
        return table.zeros(shape, dtype)
    if table.exact:
        terms = sorted([*terms, *zeros[:1]])  # zeros added to zeros are zeros
    elif zeros:
        table.zeros_left_out += 1
    if len(terms) == 1:
        return reshape(table, terms[0], shape)
    answer = by_pieces(table, terms, lambda parts: add_any(table, parts))
    if answer is None:
        terms, order = oriented(table, terms)
        answer = turned(table, table.node("add_any", (), sorted(terms), table.shape[terms[0]], dtype), order)
    return reshape(table, answer, shape)


def _terms(table: Table, core: int) -> list[int]:
    """Return the terms of a sum, even if its axes are permuted; a value that is not a sum is its only term."""
    if table.op[core] == "add_any":
        return list(table.inputs[core])
    inner = table.inputs[core][0] if table.op[core] == "transpose" else core
    if table.op[inner] != "add_any":
        return [core]
    order = table.params[core]
    assert isinstance(order, tuple)
    return [transpose(table, term, order) for term in table.inputs[inner]]


def plain_sum(table: Table, first: int, second: int) -> int:
    """Return the sum of two values if the order of more terms matters; swapping the two does not."""
    shape, dtype = table.shape[first], table.dtype[first]
    terms = sorted(reshape(table, value, solid(shape)) for value in (first, second))
    answer = by_pieces(table, terms, lambda parts: plain_sum(table, *parts))
    if answer is None:
        terms, order = oriented(table, terms)
        answer = turned(table, table.node("plain_sum", (), sorted(terms), table.shape[terms[0]], dtype), order)
    return reshape(table, answer, shape)


def choose(table: Table, index: int, values: Sequence[int]) -> int:
    """Return the value chosen by a scalar index, as in `lax.cond` and `lax.switch`; equal values need no choice."""
    if len(set(values)) == 1:
        return values[0]
    shape, dtype = table.shape[values[0]], table.dtype[values[0]]
    cores = [reshape(table, value, solid(shape)) for value in values]
    answer = by_pieces(table, cores, lambda parts: choose(table, index, parts))
    if answer is None:
        cores, order = oriented(table, cores)
        answer = turned(table, table.node("cond", (), (index, *cores), table.shape[cores[0]], dtype), order)
    return reshape(table, answer, shape)


def by_pieces(
    table: Table, values: Sequence[int], combine: Callable[[list[int]], int], at_most: int | None = None
) -> int | None:
    """Combine values of one shape piece by piece if one is a concatenation.

    None if none is, or if there would be more than `at_most` pieces.
    """
    axes = [axis_of(table, value) for value in values if table.op[value] == "concat"]
    if not axes:
        return None
    axis = min(axes)
    ends: set[int] = set()
    for value in values:
        if table.op[value] == "concat" and axis_of(table, value) == axis:
            at = 0
            for piece in table.inputs[value]:
                at += table.shape[piece][axis]
                ends.add(at)
    if at_most is not None and len(ends) > at_most:
        return None
    shape = table.shape[values[0]]
    pieces, start = [], 0
    for stop in sorted(ends):
        box = (*full(shape[:axis]), (start, stop), *full(shape[axis + 1 :]))
        pieces.append(combine([cut(table, value, box) for value in values]))
        start = stop
    return concat(table, pieces, axis)


def _cut_sum(table: Table, value: int, box: Bounds) -> int:
    return add_any(table, [cut(table, term, box) for term in table.inputs[value]])


def _cut_plain_sum(table: Table, value: int, box: Bounds) -> int:
    first, second = (cut(table, term, box) for term in table.inputs[value])
    return plain_sum(table, first, second)


def _cut_choice(table: Table, value: int, box: Bounds) -> int:
    index, *values = table.inputs[value]
    return choose(table, index, [cut(table, branch, box) for branch in values])


def _join_sums(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join neighbouring sums to a sum of joined terms, if each term of one continues a term of the other."""
    shapes = table.shape[left], table.shape[right]
    terms, others = (list(table.inputs[peel(table, value)]) for value in (left, right))
    if not len(terms) == len(others) <= JOINED_TERMS:
        return None
    joined = []
    for term in terms:
        row = reshape(table, term, shapes[0])
        for other in others:
            both = join(table, row, reshape(table, other, shapes[1]), axis)
            if both is not None:
                joined.append(both)
                others.remove(other)
                break
        else:
            return None
    return add_any(table, joined)


# More terms are not matched, since the cost is quadratic in their number.
JOINED_TERMS = 8

JOIN_THROUGH["add_any"] = _join_sums
SLICE_THROUGH["add_any"] = _cut_sum
SLICE_THROUGH["plain_sum"] = _cut_plain_sum
SLICE_THROUGH["cond"] = _cut_choice
