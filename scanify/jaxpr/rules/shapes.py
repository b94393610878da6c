"""Arithmetic of shapes and index ranges, independent of nodes and jax."""

from functools import lru_cache
from math import prod

Shape = tuple[int, ...]
Bounds = tuple[tuple[int, int], ...]


# A program has few shapes, but hundreds of thousands of values.
_remembered = lru_cache(1 << 12)


@_remembered
def solid(shape: Shape) -> Shape:
    """The dimensions that are not 1."""
    return tuple(size for size in shape if size != 1)


@_remembered
def solid_axes(shape: Shape) -> tuple[int, ...]:
    """The axes of the dimensions that are not 1."""
    return tuple(axis for axis, size in enumerate(shape) if size != 1)


def full(shape: Shape) -> Bounds:
    """The bounds of the whole array."""
    return tuple((0, size) for size in shape)


def sizes(bounds: Bounds) -> Shape:
    """The shape of the box within the bounds."""
    return tuple(stop - start for start, stop in bounds)


def carry_bounds(bounds: Bounds, old: Shape, new: Shape) -> Bounds:
    """Convert bounds on `old` to bounds on `new`, which has the same solid dimensions. Bounds on units are (0, 1)."""
    kept = iter([bounds[axis] for axis in solid_axes(old)])
    return tuple((0, 1) if size == 1 else next(kept) for size in new)


def groups(old: Shape, new: Shape) -> list[tuple[Shape, Shape]] | None:
    """Split a row-major reshape into the smallest independent reshapes, as pairs in order; None for empty shapes."""
    if 0 in old or 0 in new:
        return None
    found = []
    i = j = 0
    while i < len(old) or j < len(new):
        left, right = [old[i]] if i < len(old) else [], [new[j]] if j < len(new) else []
        i, j = i + len(left), j + len(right)
        while prod(left) != prod(right):
            if prod(left) < prod(right):
                left.append(old[i])
                i += 1
            else:
                right.append(new[j])
                j += 1
        found.append((tuple(left), tuple(right)))
    return found


def unreshape(bounds: Bounds, old: Shape, new: Shape) -> Bounds | None:
    """Convert bounds on `new`, a row-major reshape of `old`, to bounds on `old` with the same elements in the same
    order.

    None if the elements do not form a box of `old`. Used for stacks split into chunks of layers, (k * s, ...) -> (k, s,
    ...), and for merged chunks, (k, s, ...) -> (k * s, ...).
    """
    split = groups(old, new)
    if split is None:
        return None
    answer: list[tuple[int, int]] = []
    at = 0
    for before, after in split:
        box = bounds[at : at + len(after)]
        at += len(after)
        span = _span(box, after)
        if before == after:
            answer += box
        elif span is None:
            return None
        else:
            cut = _cut(span, before)
            if cut is None:
                return None
            answer += cut
    return tuple(answer)


def _span(box: Bounds, shape: Shape) -> tuple[int, int] | None:
    """Return the contiguous range of row-major positions that a box covers, or None."""
    start = stop = 0
    spread = False
    for (low, high), size in zip(box, shape, strict=True):
        if high <= low:
            return None
        if spread and (low, high) != (0, size):
            return None
        start, stop = start * size + low, stop * size + high - 1
        spread = spread or high - low > 1
    return start, stop + 1


def _cut(span: tuple[int, int], shape: Shape) -> Bounds | None:
    """Return the box of `shape` whose row-major positions are exactly `span`, or None."""
    start, stop = span
    if not shape:
        return () if span == (0, 1) else None
    rest = prod(shape[1:])
    if start // rest == (stop - 1) // rest:
        row = start // rest
        inner = _cut((start - row * rest, stop - row * rest), shape[1:])
        return None if inner is None else ((row, row + 1), *inner)
    if start % rest or stop % rest:
        return None
    return ((start // rest, stop // rest), *full(shape[1:]))
