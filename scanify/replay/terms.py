"""Terms: the value of an array's element as a function of its index.

    ("at", atom, offset, strides)   element `offset + sum(strides[k] * index[k])` of an atom in row-major order
    ("is", bytes)                   a constant
    ("cast", dtype, term)           a term of that dtype, converted to the dtype of the array
    ("sum", terms)                  a sum of cotangents, in any order
    ("plus", terms)                 a sum of two terms
    ("choose", value, terms)        a term selected by a scalar value

Moving elements changes only offsets and strides, so two arrays are equal if their terms are.
"""

from collections.abc import Callable
from typing import Any

Term = tuple[Any, ...]
Box = tuple[tuple[int, int], ...]
Strides = tuple[int, ...]
Move = Callable[[int, Strides], tuple[int, Strides]]


def moved(term: Term, move: Move) -> Term:
    """Reindex a term: `move` returns the new offset and strides of each atom."""
    kind = term[0]
    if kind == "at":
        return ("at", term[1], *move(term[2], term[3]))
    if kind == "is":
        return term
    if kind == "cast":
        return ("cast", term[1], moved(term[2], move))
    inner = tuple(moved(each, move) for each in term[-1])
    return (*term[:-1], tuple(sorted(inner)) if kind in ("sum", "plus") else inner)


def within(term: Term, box: Box) -> Term:
    """Normalise a term in a box: an axis of length one gets stride 0."""
    if term[0] == "is":
        return term
    single = [(axis, low) for axis, (low, high) in enumerate(box) if high - low == 1]
    if not single:
        return term

    def move(offset: int, strides: Strides) -> tuple[int, Strides]:
        found = list(strides)
        for axis, low in single:
            offset += found[axis] * low
            found[axis] = 0
        return offset, tuple(found)

    return moved(term, move)


def leaves(term: Term) -> list[Term]:
    """Return the occurrences of atoms in a term."""
    if term[0] == "at":
        return [term]
    if term[0] == "is":
        return []
    return leaves(term[2]) if term[0] == "cast" else [leaf for each in term[-1] for leaf in leaves(each)]


def indices(term: Term) -> list[int]:
    """Return the scalars that choose in a term."""
    if term[0] in ("at", "is"):
        return []
    inner = (term[2],) if term[0] == "cast" else term[-1]
    return [*([term[1]] if term[0] == "choose" else []), *(found for each in inner for found in indices(each))]


def follows(term: Term, width: int, start: int, other: Term, at: int, axis: int) -> Term | None:
    """Return a term for both boxes if `other`, at index `at` of the axis, continues `term`; None otherwise."""
    kind = term[0]
    if kind != other[0]:
        return None
    if kind == "is":
        return term if term == other else None
    if kind == "cast":
        inner = follows(term[2], width, start, other[2], at, axis) if term[1] == other[1] else None
        return None if inner is None else ("cast", term[1], inner)
    if kind == "at":
        return _next(term, width, start, other, at, axis)
    if term[:-1] != other[:-1] or len(term[-1]) != len(other[-1]):
        return None
    both = [follows(a, width, start, b, at, axis) for a, b in zip(term[-1], other[-1], strict=True)]
    found = [each for each in both if each is not None]
    if len(found) < len(both):
        return None
    return (*term[:-1], tuple(sorted(found) if kind in ("sum", "plus") else found))


def _next(term: Term, width: int, start: int, other: Term, at: int, axis: int) -> Term | None:
    _, atom, offset, strides = term
    _, atom_there, there, strides_there = other
    apart = [a for a in range(len(strides)) if a != axis and strides[a] != strides_there[a]]
    if atom != atom_there or apart:
        return None
    if width == 1:
        step = there - offset
        return ("at", atom, offset - step * start, (*strides[:axis], step, *strides[axis + 1 :]))
    return term if offset + strides[axis] * at == there else None
