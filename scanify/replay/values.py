"""Arrays as boxes of terms. Two arrays with the same number are equal, whatever the values of their atoms.

An atom is the result of an operation that the checker treats as a function of its operands and parameters only. For
concatenated, sliced, transposed or repeated arrays, only the boxes are kept, in a normal form as far as possible. If
equal arrays have different forms, they are not recognised as equal, which can only make a certificate fail.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from scanify.replay.terms import Box, Term, follows, within

Shape = tuple[int, ...]
Piece = tuple[Box, Term]

# Constants of up to this many elements are reassembled after they were taken apart.
GATHERED = 4096


@dataclass(frozen=True)
class Atom:
    """The result of an operation: its name, parameters, the numbers of its operands, and which output."""

    op: str
    params: str
    operands: tuple[int, ...]
    output: int
    shape: Shape
    dtype: str


@dataclass(frozen=True)
class Value:
    """An array: boxes that fill its shape, and the term of each."""

    shape: Shape
    dtype: str
    pieces: tuple[Piece, ...]


def dtype_of(name: str) -> Any:
    """Return the NumPy dtype with this name; None if it does not exist, as for random keys."""
    if name == "float0":  # the empty cotangents of integers
        return np.dtype([(name, np.void, 0)])
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError, TypeError):
        return None


def full(shape: Shape) -> Box:
    return tuple((0, size) for size in shape)


def contiguous(shape: Shape) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


class Values:
    """All atoms and arrays, by number."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.values: list[Value] = []
        self.data: dict[int, np.ndarray[Any, Any]] = {}
        self._atoms: dict[Atom, int] = {}
        self._values: dict[Value, int] = {}

    def __getitem__(self, number: int) -> Value:
        return self.values[number]

    def atom(self, atom: Atom) -> int:
        """Return the array that consists of an atom."""
        return self.make(atom.shape, atom.dtype, [(full(atom.shape), self.leaf(atom))])

    def leaf(self, atom: Atom) -> Term:
        number = self._atoms.setdefault(atom, len(self.atoms))
        if number == len(self.atoms):
            self.atoms.append(atom)
        return ("at", number, 0, contiguous(atom.shape))

    def fill(self, scalar: bytes, shape: Shape, dtype: str) -> int:
        return self.make(shape, dtype, [(full(shape), ("is", scalar))])

    def zeros(self, shape: Shape, dtype: str) -> int:
        kind = dtype_of(dtype)
        return self.fill(bytes(0 if kind is None else kind.itemsize), shape, dtype)

    def const(self, array: np.ndarray[Any, Any], dtype: str) -> int:
        """Return a constant, identified by its bytes."""
        raw, width = array.tobytes(), array.dtype.itemsize
        if raw == raw[:width] * array.size:
            return self.fill(raw[:width], array.shape, dtype)
        digest = hashlib.sha256(raw).hexdigest()
        leaf = self.leaf(Atom("const", digest, (), 0, (array.size,), dtype))
        self.data[leaf[1]] = array.reshape(-1)
        term = ("at", leaf[1], 0, contiguous(array.shape))
        return self._numbered(Value(array.shape, dtype, ((full(array.shape), within(term, full(array.shape))),)))

    def constant(self, number: int, most: int = GATHERED) -> np.ndarray[Any, Any] | None:
        """Return the values of an array of at most `most` elements, None if they are unknown."""
        value = self.values[number]
        kind = dtype_of(value.dtype)
        if kind is None or kind.itemsize == 0 or prod(value.shape) > most:
            return None
        found = np.zeros(value.shape, kind)
        for box, term in value.pieces:
            where = tuple(slice(*pair) for pair in box)
            if term[0] == "is":
                found[where] = np.frombuffer(term[1], kind, 1)[0]
            elif term[0] == "at" and term[1] in self.data:
                grid = np.indices([high - low for low, high in box])
                at = term[2] + sum((axis + pair[0]) * s for axis, pair, s in zip(grid, box, term[3], strict=True))
                found[where] = self.data[term[1]][at]
            else:
                return None
        return found

    def is_zero(self, number: int) -> bool:
        """True if every element is 0.0, and not -0.0."""
        value = self.values[number]
        return bool(value.pieces) and all(zero(term, value.dtype) for _, term in value.pieces)

    def make(self, shape: Shape, dtype: str, pieces: Sequence[Piece]) -> int:
        """Return the array with these boxes, which must be disjoint and fill the shape."""
        given = [(box, self._known(within(term, box), dtype)) for box, term in pieces if all(a < b for a, b in box)]
        if sum(prod(high - low for low, high in box) for box, _ in given) != prod(shape):
            raise ValueError(f"boxes do not fill {shape}")
        if len(given) > 1:
            given = _spelled(given, 0, len(shape))
        number = self._numbered(Value(shape, dtype, tuple(given)))
        if not given or (len(given) == 1 and (given[0][1][0] == "is" or self._is_atom(given[0], shape))):
            return number
        if any(term[0] != "is" and (term[0] != "at" or term[1] not in self.data) for _, term in given):
            return number
        array = self.constant(number)
        return number if array is None else self.const(array, dtype)

    def _is_atom(self, piece: Piece, shape: Shape) -> bool:
        box, term = piece
        own = within(("at", term[1], 0, contiguous(shape)), box)
        return bool(term == own and self.atoms[term[1]].shape == (prod(shape),))

    def _known(self, term: Term, dtype: str) -> Term:
        """Replace an element of a constant by its value."""
        if term[0] == "at" and term[1] in self.data and not any(term[3]):
            return ("is", self.data[term[1]][term[2]].tobytes())
        return term

    def _numbered(self, value: Value) -> int:
        number = self._values.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def zero(term: Term, dtype: str) -> bool:
    return term[0] == "is" and not any(term[1]) and dtype != "float8_e8m0fnu"


def _spelled(pieces: list[Piece], axis: int, rank: int) -> list[Piece]:
    """Normalise boxes: sort them and merge those that continue each other, along the last axes first."""
    if len(pieces) < 2 or axis == rank:
        return pieces
    ends = sorted({end for box, _ in pieces for end in box[axis]})
    if len(ends) == 2:
        return _spelled(pieces, axis + 1, rank)
    by_start = sorted(pieces, key=lambda piece: piece[0][axis])
    slabs: list[tuple[int, int, list[Piece]]] = []
    at = 0
    open_: list[Piece] = []
    for low, high in pairwise(ends):
        while at < len(by_start) and by_start[at][0][axis][0] <= low:
            open_.append(by_start[at])
            at += 1
        open_ = [piece for piece in open_ if piece[0][axis][1] > low]
        cut = [_cut(piece, axis, low, high) for piece in open_]
        slabs.append((low, high, _spelled(cut, axis + 1, rank)))
    return [piece for slab in _joined(slabs, axis) for piece in slab[2]]


def _cut(piece: Piece, axis: int, low: int, high: int) -> Piece:
    box, term = piece
    if box[axis] == (low, high):
        return piece
    inner = (*box[:axis], (low, high), *box[axis + 1 :])
    return inner, within(term, inner)


def _joined(slabs: list[tuple[int, int, list[Piece]]], axis: int) -> list[tuple[int, int, list[Piece]]]:
    found: list[tuple[int, int, list[Piece]]] = []
    waiting = slabs[::-1]
    while waiting:
        low, high, pieces = waiting.pop()
        if not found:
            found.append((low, high, pieces))
            continue
        start, end, before = found[-1]
        first = [_cut(piece, axis, low, low + 1) for piece in pieces]
        joined = _goes_on(before, end - start, start, first, low, axis)
        if joined is None:
            found.append((low, high, pieces))
            continue
        found[-1] = (start, low + 1, joined)
        if high - low == 1:
            continue
        if all(term == there for (_, term), (_, there) in zip(joined, pieces, strict=True)):
            found[-1] = (start, high, [((*b[:axis], (start, high), *b[axis + 1 :]), t) for b, t in joined])
        else:
            found.append((low + 1, high, [_cut(piece, axis, low + 1, high) for piece in pieces]))
    return found


def _goes_on(before: list[Piece], width: int, start: int, first: list[Piece], at: int, axis: int) -> list[Piece] | None:
    if len(before) != len(first):
        return None
    found = []
    for (box, term), (other, there) in zip(before, first, strict=True):
        if box[:axis] != other[:axis] or box[axis + 1 :] != other[axis + 1 :]:
            return None
        both = follows(term, width, start, there, at, axis)
        if both is None:
            return None
        found.append(((*box[:axis], (start, at + 1), *box[axis + 1 :]), both))
    return found
