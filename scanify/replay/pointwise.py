"""Elementwise operations that are evaluated per box: conversions, sums of cotangents, choices."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from scanify.replay.terms import Box, Term, within
from scanify.replay.values import Piece, Values, zero


def _boxes(values: Values, numbers: Sequence[int]) -> list[tuple[Box, list[Term]]]:
    """Return boxes in which each array has a single term, with these terms."""
    found: list[tuple[Box, list[Term]]] = [(box, [term]) for box, term in values[numbers[0]].pieces]
    for number in numbers[1:]:
        found = _refined(found, values[number].pieces)
    return found


def _refined(found: list[tuple[Box, list[Term]]], pieces: Sequence[Piece]) -> list[tuple[Box, list[Term]]]:
    if len(found) == len(pieces) == 1:
        return [(found[0][0], [*found[0][1], pieces[0][1]])]
    if not pieces:
        return []
    ordered = sorted(pieces, key=lambda piece: piece[0][:1])
    starts = [piece[0][0][0] for piece in ordered]
    longest = max(piece[0][0][1] - piece[0][0][0] for piece in ordered)
    after: list[tuple[Box, list[Term]]] = []
    for box, terms in found:
        low, high = box[0]
        for there, term in ordered[bisect_right(starts, low - longest) : bisect_left(starts, high)]:
            both = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, there, strict=True))
            if all(a < b for a, b in both):
                after.append((both, [*terms, term]))
    return after


def _combined(values: Values, numbers: Sequence[int], combine: Callable[[list[Term]], Term]) -> int:
    first = values[numbers[0]]
    boxes = _boxes(values, numbers)
    pieces = [(box, combine([within(term, box) for term in terms])) for box, terms in boxes]
    return values.make(first.shape, first.dtype, pieces)


def cast(values: Values, number: int, dtype: str) -> int:
    value = values[number]
    return values.make(value.shape, dtype, [(box, ("cast", value.dtype, term)) for box, term in value.pieces])


def choose(values: Values, index: int, numbers: Sequence[int]) -> int:
    """Choose an array by a scalar index, elementwise; equal terms need no choice."""

    def chosen(terms: list[Term]) -> Term:
        return terms[0] if all(term == terms[0] for term in terms) else ("choose", index, tuple(terms))

    return numbers[0] if len(set(numbers)) == 1 else _combined(values, numbers, chosen)


def plus(values: Values, numbers: Sequence[int]) -> int:
    """The sum of two arrays, independent of their order."""
    return _combined(values, numbers, lambda terms: ("plus", tuple(sorted(terms))))


def total(values: Values, numbers: Sequence[int], marked: Callable[[Term], bool], *, signs: bool) -> tuple[int, bool]:
    """Return a sum of cotangents in any order, and whether zeros were omitted. With `signs`, none are.

    Zeros are omitted only if a remaining term is `marked`, so that the sign of its zeros is tracked.
    """
    dtype, left_out = values[numbers[0]].dtype, []

    def added(terms: list[Term]) -> Term:
        flat = [part for term in terms for part in (term[1] if term[0] == "sum" else (term,))]
        kept = flat if signs else [term for term in flat if not zero(term, dtype)] or flat[:1]
        if not zero(kept[0], dtype) and not any(map(marked, kept)):
            kept = flat
        if len(kept) < len(flat):
            left_out.append(True)
        return kept[0] if len(kept) == 1 else ("sum", tuple(sorted(kept)))

    return _combined(values, numbers, added), bool(left_out)
