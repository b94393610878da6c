"""Reshaping: axes are merged if their elements are contiguous, and split anywhere.

Otherwise, as for a flattened transpose, the box becomes an atom that holds its elements in row-major order.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from scanify.replay.terms import Box, Strides, Term, moved, within
from scanify.replay.values import Atom, Piece, Shape, Values, contiguous, full

# The largest number of boxes that a reshape may produce.
BOXES = 4096
Group = tuple[range, range]


def reshape(values: Values, number: int, shape: Shape) -> int:
    """`x.reshape(shape)`, in row-major order."""
    value = values[number]
    if value.shape == shape:
        return number
    if len(value.pieces) == 1 and value.pieces[0][1][0] == "is":
        return values.fill(value.pieces[0][1][1], shape, value.dtype)
    if not value.pieces:
        return values.make(shape, value.dtype, [])
    groups = _groups(value.shape, shape)
    pieces = [part for piece in value.pieces for part in _flat(piece, value.shape, groups)]
    if len(pieces) > BOXES:
        return _opaque(values, number, shape)
    found: list[Piece] = []
    for box, term in pieces:
        found += _reshaped(values, (box, term), value.shape, shape, groups, value.dtype)
    return values.make(shape, value.dtype, found)


def _opaque(values: Values, number: int, shape: Shape) -> int:
    value = values[number]
    leaf = values.leaf(Atom("ravel", "", (number,), 0, (prod(shape),), value.dtype))
    return values.make(shape, value.dtype, [(full(shape), ("at", leaf[1], 0, contiguous(shape)))])


def _groups(old: Shape, new: Shape) -> list[Group]:
    """Group the axes of both shapes into the shortest runs that cover the same indices."""
    found: list[Group] = []
    i = j = 0
    while i < len(old) or j < len(new):
        a, b = i, j
        first, second = 1, 1
        while a == i or b == j or first != second:
            if a < len(old) and (first <= second or b == len(new)):
                first *= old[a]
                a += 1
            elif b < len(new):
                second *= new[b]
                b += 1
            else:
                break
        found.append((range(i, a), range(j, b)))
        i, j = a, b
    return found


def _flat(piece: Piece, shape: Shape, groups: Sequence[Group]) -> Iterator[Piece]:
    """Split a piece into boxes that each cover one range of indices per group."""
    box, term = piece
    for axes, _ in groups:
        for axis in axes:
            low, high = box[axis]
            later = any(box[k] != (0, shape[k]) for k in axes if k > axis)
            if high - low > 1 and later:
                for at in range(low, high):
                    yield from _flat(((*box[:axis], (at, at + 1), *box[axis + 1 :]), term), shape, groups)
                return
    yield box, term


def _reshaped(values: Values, piece: Piece, old: Shape, new: Shape, groups: Sequence[Group], dtype: str) -> list[Piece]:
    box, term = piece
    term = within(term, box)
    lines = [_line(box, old, axes) for axes, _ in groups]
    flat = _merged(term, box, old, groups)
    if flat is None:
        flat = _ravel(values, box, term, dtype, lines)
    spread = moved(flat, lambda offset, steps: (offset, _split_steps(steps, new, groups)))
    sizes = [tuple(new[a] for a in axes) for _, axes in groups]
    parts = [_boxes(low, high, each) for (low, high), each in zip(lines, sizes, strict=True)]
    return [(tuple(pair for part in each for pair in part), spread) for each in product(*parts)]


def _line(box: Box, shape: Shape, axes: range) -> tuple[int, int]:
    """Return the range of indices in a group that a box covers."""
    low, width = 0, 1
    for axis in axes:
        low = low * shape[axis] + box[axis][0]
        width *= box[axis][1] - box[axis][0]
    return low, low + width


def _merged(term: Term, box: Box, shape: Shape, groups: Sequence[Group]) -> Term | None:
    """Return the term with one index per group; None if the strides do not allow it."""
    failed: list[bool] = []

    def move(offset: int, strides: Strides) -> tuple[int, Strides]:
        steps = []
        for axes, _ in groups:
            weights = {axis: prod(shape[k] for k in axes if k > axis) for axis in axes}
            wide = [axis for axis in axes if box[axis][1] - box[axis][0] > 1]
            step = strides[wide[-1]] // weights[wide[-1]] if wide else 0
            if any(strides[axis] != step * weights[axis] for axis in wide):
                failed.append(True)
            offset -= step * sum(weights[axis] * box[axis][0] for axis in axes if axis not in wide)
            steps.append(step)
        return offset, tuple(steps)

    found = moved(term, move)
    return None if failed else found


def _ravel(values: Values, box: Box, term: Term, dtype: str, lines: Sequence[tuple[int, int]]) -> Term:
    """Make a box an atom that holds it in row-major order."""
    sizes = tuple(high - low for low, high in box)
    kept = [axis for axis, size in enumerate(sizes) if size > 1]

    def move(offset: int, strides: Strides) -> tuple[int, Strides]:
        return offset + sum(s * low for s, (low, _) in zip(strides, box, strict=True)), tuple(strides[a] for a in kept)

    solid = tuple(sizes[axis] for axis in kept)
    number = values.make(solid, dtype, [(full(solid), moved(term, move))])
    leaf = values.leaf(Atom("ravel", "", (number,), 0, (prod(solid),), dtype))
    steps = contiguous(tuple(high - low for low, high in lines))
    return ("at", leaf[1], -sum(s * low for s, (low, _) in zip(steps, lines, strict=True)), steps)


def _split_steps(steps: Sequence[int], new: Shape, groups: Sequence[Group]) -> Strides:
    found = []
    for step, (_, axes) in zip(steps, groups, strict=True):
        found += [step * prod(new[k] for k in axes if k > axis) for axis in axes]
    return tuple(found)


def _boxes(low: int, high: int, sizes: Shape) -> list[Box]:
    """Return the boxes over axes of these sizes that cover a range of indices."""
    if len(sizes) == 0:
        return [()]
    if len(sizes) == 1:
        return [((low, high),)]
    weight = prod(sizes[1:])
    first, last = low // weight, (high - 1) // weight
    if first == last:
        return [((first, first + 1), *rest) for rest in _boxes(low - first * weight, high - first * weight, sizes[1:])]
    found: list[Box] = []
    if low % weight:
        found += [((first, first + 1), *rest) for rest in _boxes(low % weight, weight, sizes[1:])]
        first += 1
    stop = high // weight
    if stop > first:
        found.append(((first, stop), *full(sizes[1:])))
    if high % weight:
        found += [((stop, stop + 1), *rest) for rest in _boxes(0, high % weight, sizes[1:])]
    return found
