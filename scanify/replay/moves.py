"""Operations that move elements: each maps every box of its operand to a new place and a new index."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

from scanify.replay.terms import Box, Move, Strides, Term, moved
from scanify.replay.values import Piece, Shape, Values, full

# An axis with padding between its elements is taken apart element by element up to this size.
ROWS = 4096


def _each(values: Values, number: int, shape: Shape, place: Callable[[Box], Box], move: Move) -> int:
    value = values[number]
    return values.make(shape, value.dtype, [(place(box), moved(term, move)) for box, term in value.pieces])


def cut(values: Values, number: int, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> int:
    """`x[start:stop:step]`."""
    triples = list(zip(starts, stops, steps, strict=True))
    if min(steps, default=1) < 1:
        raise ValueError(f"{steps} are no steps")
    shape = tuple(max(0, -((start - stop) // step)) for start, stop, step in triples)
    if shape == values[number].shape:
        return number

    def place(box: Box) -> Box:
        return tuple(
            (max(0, -((start - low) // step)), min(size, -((start - high) // step)))
            for (low, high), (start, _, step), size in zip(box, triples, shape, strict=True)
        )

    def move(offset: int, strides: Strides) -> tuple[int, Strides]:
        offset += sum(s * start for s, (start, _, _) in zip(strides, triples, strict=True))
        return offset, tuple(s * step for s, (_, _, step) in zip(strides, triples, strict=True))

    return _each(values, number, shape, place, move)


def window(values: Values, number: int, starts: Sequence[int], sizes: Sequence[int]) -> int:
    """The box of these sizes that starts there."""
    return cut(values, number, starts, [a + n for a, n in zip(starts, sizes, strict=True)], [1] * len(sizes))


def reverse(values: Values, number: int, axes: Sequence[int]) -> int:
    shape = values[number].shape

    def place(box: Box) -> Box:
        return tuple((shape[a] - h, shape[a] - k) if a in axes else (k, h) for a, (k, h) in enumerate(box))

    def move(offset: int, strides: Strides) -> tuple[int, Strides]:
        offset += sum(strides[a] * (shape[a] - 1) for a in axes)
        return offset, tuple(-s if a in axes else s for a, s in enumerate(strides))

    return _each(values, number, shape, place, move)


def transpose(values: Values, number: int, order: Sequence[int]) -> int:
    shape = values[number].shape
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"{order} is no order of the axes of {shape}")
    return _each(
        values,
        number,
        tuple(shape[a] for a in order),
        lambda box: tuple(box[a] for a in order),
        lambda offset, strides: (offset, tuple(strides[a] for a in order)),
    )


def broadcast(values: Values, number: int, shape: Shape, axes: Sequence[int]) -> int:
    """`lax.broadcast_in_dim`: axis k becomes axis `axes[k]`; new axes and axes of size 1 are repeated."""
    old, whole = values[number].shape, full(shape)
    if len(set(axes)) != len(old) or any(n not in (1, shape[a]) for n, a in zip(old, axes, strict=True)):
        raise ValueError(f"{old} is not repeated to {shape} along {axes}")
    if old == shape and list(axes) == list(range(len(old))):
        return number
    from_axis = {new: k for k, new in enumerate(axes) if old[k] == shape[new]}
    all_axes = range(len(shape))
    return _each(
        values,
        number,
        shape,
        lambda box: tuple(box[from_axis[a]] if a in from_axis else whole[a] for a in all_axes),
        lambda offset, strides: (offset, tuple(strides[from_axis[a]] if a in from_axis else 0 for a in all_axes)),
    )


def shifted(piece: Piece, by: Sequence[int]) -> Piece:
    """Move a box together with its contents."""
    box, term = piece

    def move(offset: int, strides: Strides) -> tuple[int, Strides]:
        return offset - sum(s * d for s, d in zip(strides, by, strict=True)), strides

    return tuple((low + d, high + d) for (low, high), d in zip(box, by, strict=True)), moved(term, move)


def concatenate(values: Values, numbers: Sequence[int], axis: int) -> int:
    first = values[numbers[0]]
    pieces: list[Piece] = []
    at = 0
    for number in numbers:
        shape = values[number].shape
        by = [0] * len(shape)
        by[axis] = at
        pieces += [shifted(piece, by) for piece in values[number].pieces]
        at += shape[axis]
    return values.make((*first.shape[:axis], at, *first.shape[axis + 1 :]), first.dtype, pieces)


def stack(values: Values, numbers: Sequence[int], axis: int) -> int:
    """Stack arrays of equal shape along a new axis."""
    first = values[numbers[0]]
    pieces: list[Piece] = []
    for at, number in enumerate(numbers):
        for box, term in values[number].pieces:
            inner = moved(term, lambda offset, strides: (offset, (*strides[:axis], 0, *strides[axis:])))
            pieces.append(((*box[:axis], (at, at + 1), *box[axis:]), inner))
    return values.make((*first.shape[:axis], len(numbers), *first.shape[axis:]), first.dtype, pieces)


def row(values: Values, number: int, index: int, axis: int = 0) -> int:
    """`x[index]` along an axis, which is removed."""
    value = values[number]
    pieces: list[Piece] = []
    for box, term in value.pieces:
        if box[axis][0] <= index < box[axis][1]:
            inner = moved(term, lambda o, s: (o + s[axis] * index, (*s[:axis], *s[axis + 1 :])))
            pieces.append(((*box[:axis], *box[axis + 1 :]), inner))
    return values.make((*value.shape[:axis], *value.shape[axis + 1 :]), value.dtype, pieces)


def pad(values: Values, number: int, scalar: Term, config: Sequence[Sequence[int]]) -> int | None:
    """`lax.pad` with a constant; None if an axis is too long to be taken apart."""
    for axis, (low, high, between) in enumerate(config):
        shape = values[number].shape
        size = shape[axis] + max(shape[axis] - 1, 0) * between
        if between and size > ROWS:
            return None
        pieces = _spread(values[number].pieces, axis, between)
        gaps = [(k * (between + 1) + 1, (k + 1) * (between + 1)) for k in range(shape[axis] - 1)] if between else []
        wide = (*shape[:axis], low + size + high, *shape[axis + 1 :])
        places = [(a + low, b + low) for a, b in gaps] + [(0, low), (low + size, low + size + high)]
        pieces = [shifted(piece, [low if a == axis else 0 for a in range(len(shape))]) for piece in pieces]
        pieces += [(tuple(gap if a == axis else (0, n) for a, n in enumerate(wide)), scalar) for gap in places]
        number = values.make(wide, values[number].dtype, [_inside(piece, wide) for piece in pieces])
    return number


def _inside(piece: Piece, shape: Shape) -> Piece:
    """Clip a box to the shape, since negative padding cuts."""
    return tuple((max(low, 0), min(high, size)) for (low, high), size in zip(piece[0], shape, strict=True)), piece[1]


def _spread(pieces: Sequence[Piece], axis: int, between: int) -> list[Piece]:
    if not between:
        return list(pieces)
    found = []
    for box, term in pieces:
        for at in range(*box[axis]):
            there = at * (between + 1)
            by = [there - at if a == axis else 0 for a in range(len(box))]
            found.append(shifted(((*box[:axis], (at, at + 1), *box[axis + 1 :]), term), by))
    return found


def put(values: Values, number: int, update: int, starts: Sequence[int]) -> int:
    """Replace a window of an array that starts there."""
    value, new = values[number], values[update]
    hole = tuple((a, a + n) for a, n in zip(starts, new.shape, strict=True))
    pieces = [part for piece in value.pieces for part in _around(piece, hole)]
    return values.make(value.shape, value.dtype, [*pieces, *(shifted(piece, starts) for piece in new.pieces)])


def _around(piece: Piece, hole: Box) -> list[Piece]:
    """Return the parts of a box outside of another one."""
    box, term = piece
    if any(high <= a or b <= low for (low, high), (a, b) in zip(box, hole, strict=True)):
        return [piece]
    found: list[Piece] = []
    for axis, ((low, high), (a, b)) in enumerate(zip(box, hole, strict=True)):
        found += [((*box[:axis], end, *box[axis + 1 :]), term) for end in ((low, a), (b, high)) if end[0] < end[1]]
        box = (*box[:axis], (max(low, a), min(high, b)), *box[axis + 1 :])
    return found


def tile(values: Values, number: int, copies: Sequence[int]) -> int:
    for axis, count in enumerate(copies):
        number = concatenate(values, [number] * count, axis) if count else number
    return number


def split(values: Values, number: int, sizes: Sequence[int], axis: int) -> list[int]:
    shape = values[number].shape
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    found = []
    for low, high in pairwise(ends):
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = low, high
        found.append(cut(values, number, starts, stops, [1] * len(shape)))
    return found


def elements(shape: Shape) -> int:
    return prod(shape)
