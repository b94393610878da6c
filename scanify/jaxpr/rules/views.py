"""Normal forms of operations that only move elements: one form per value, whatever jnp functions created it.

A loop reads `weights[3]`; a scan reads row 3 of `jnp.stack(weights)`, of a reshape of it into chunks, or of a sum. The
constructors here normalise these: slices are pushed towards the inputs, concatenations are flat lists of pieces in
which matching neighbours are joined, dimensions of size 1 are added by one outer reshape, and a permutation of axes is
outermost (`oriented`). Every rule moves elements and computes none, so it is exact.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from scanify.jaxpr.rules.shapes import (
    Bounds,
    Shape,
    carry_bounds,
    full,
    sizes,
    solid,
    solid_axes,
    unreshape,
)
from scanify.jaxpr.table import FOLDABLE_ELEMENTS, Table

# Longer axes are not taken apart row by row: stacks of layers are shorter.
ROWS = 4096


def peel(table: Table, value: int) -> int:
    """Strip reshapes that only add or drop dimensions of size 1."""
    while table.op[value] == "reshape":
        inner = table.inputs[value][0]
        if solid(table.shape[inner]) != solid(table.shape[value]):
            break
        value = inner
    return value


def reshape(table: Table, value: int, shape: Shape) -> int:
    """Row-major reshape. Nested reshapes collapse; a concatenation is reshaped piece by piece."""
    while table.op[value] == "reshape":
        value = table.inputs[value][0]
    old = table.shape[value]
    if old == shape:
        return value
    if table.op[value] == "fill":
        return table.fill(table.fill_value(value), shape)
    if value in table.arrays:
        return table.const(table.arrays[value].reshape(shape))
    if table.op[value] == "concat" and solid(shape) != old:
        pushed = _reshape_pieces(table, value, solid(shape))
        if pushed is not None:
            return reshape(table, pushed, shape)
    if solid(old) != solid(shape) != shape:
        value = table.node("reshape", (), (value,), solid(shape), table.dtype[value])
    return table.node("reshape", (), (value,), shape, table.dtype[value])


def _reshape_pieces(table: Table, value: int, shape: Shape) -> int | None:
    """Reshape a concatenation so that its axis remains and rows stay whole; None if that is impossible."""
    axis = axis_of(table, value)
    old = table.shape[value]
    lead = solid(old[:axis])
    at = 0
    while solid(shape[:at]) != lead or (at < len(shape) and shape[at] == 1):
        if at == len(shape):
            return None
        at += 1
    if at == len(shape):
        return None
    size = shape[at]
    if size % old[axis] == 0:
        times = size // old[axis]
        pieces = []
        for piece in table.inputs[value]:
            rows = table.shape[piece][axis]
            pieces.append(reshape(table, piece, (*shape[:at], rows * times, *shape[at + 1 :])))
        return concat(table, pieces, at)
    if old[axis] % size or size > ROWS:
        return None
    rows = old[axis] // size
    pieces = []
    for row in range(size):
        bounds = list(full(old))
        bounds[axis] = (row * rows, (row + 1) * rows)
        pieces.append(reshape(table, cut(table, value, tuple(bounds)), (*shape[:at], 1, *shape[at + 1 :])))
    return concat(table, pieces, at)


def transpose(table: Table, value: int, order: Sequence[int]) -> int:
    """Permute axes. Moving dimensions of size 1 is a reshape; transposes compose and are pushed into concatenations."""
    old = table.shape[value]
    shape = tuple(old[axis] for axis in order)
    axes = solid_axes(old)
    core_order = tuple(axes.index(axis) for axis in order if old[axis] != 1)
    inner = peel(table, value)
    if core_order == tuple(range(len(core_order))):
        return reshape(table, inner, shape)
    core = reshape(table, inner, solid(old))
    op = table.op[core]
    if op == "transpose":
        first = table.params[core]
        assert isinstance(first, tuple)
        return reshape(table, transpose(table, table.inputs[core][0], [first[axis] for axis in core_order]), shape)
    if op == "fill":
        return table.fill(table.fill_value(core), shape)
    if core in table.arrays:
        return table.const(table.arrays[core].transpose(core_order).reshape(shape))
    if op == "concat":
        pieces = [transpose(table, piece, core_order) for piece in table.inputs[core]]
        return reshape(table, concat(table, pieces, core_order.index(axis_of(table, core))), shape)
    core_shape = tuple(table.shape[core][axis] for axis in core_order)
    if op == "broadcast":
        places = table.params[core]
        assert isinstance(places, tuple)
        moved = [core_order.index(place) for place in places]
        row_order = sorted(range(len(moved)), key=moved.__getitem__)
        row = transpose(table, table.inputs[core][0], row_order)
        return reshape(table, broadcast(table, row, core_shape, sorted(moved)), shape)
    return reshape(table, table.node("transpose", core_order, (core,), core_shape, table.dtype[core]), shape)


def oriented(table: Table, cores: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """Permute the axes of values of one shape in the same way; also return the order that restores the result.

    The order is the one before the first of the values was transposed, where the first is the one with the smallest
    number in the table. Constants of one element and repeated rows fit any order.
    """
    bases = []
    for core in cores:
        if table.op[core] == "transpose":
            bases.append((table.inputs[core][0], table.params[core]))
        elif table.op[core] not in ("fill", "broadcast") and core not in table.arrays:
            bases.append((core, tuple(range(len(table.shape[core])))))
    order = min(bases, default=(0, ()))[1]
    assert isinstance(order, tuple)
    if order == tuple(range(len(order))):
        return list(cores), ()
    back = sorted(range(len(order)), key=order.__getitem__)
    return [transpose(table, core, back) for core in cores], order


def turned(table: Table, value: int, order: tuple[int, ...]) -> int:
    """Permute the result of an operation on `oriented` values back."""
    return transpose(table, value, order) if order else value


def broadcast(table: Table, value: int, shape: Shape, axes: Sequence[int]) -> int:
    """`lax.broadcast_in_dim`: axis i of the operand becomes axis `axes[i]`; dimensions of size 1 may grow."""
    old = table.shape[value]
    if table.op[value] == "fill":
        return table.fill(table.fill_value(value), shape)
    target = solid_axes(shape)
    core = reshape(table, value, solid(old))
    places = tuple(target.index(axes[axis]) for axis in solid_axes(old))
    if table.op[core] == "broadcast":
        first = table.params[core]
        assert isinstance(first, tuple)
        places = tuple(places[axis] for axis in first)
        core = table.inputs[core][0]
    core_shape = solid(shape)
    if table.shape[core] == core_shape:
        return reshape(table, core, shape)
    if table.op[core] == "concat":
        return reshape(table, _broadcast_pieces(table, core, core_shape, places), shape)
    return reshape(table, table.node("broadcast", places, (core,), core_shape, table.dtype[core]), shape)


def _broadcast_pieces(table: Table, core: int, shape: Shape, places: tuple[int, ...]) -> int:
    along = places[axis_of(table, core)]
    pieces = []
    for piece in table.inputs[core]:
        rows = table.shape[piece][axis_of(table, core)]
        pieces.append(broadcast(table, piece, (*shape[:along], rows, *shape[along + 1 :]), places))
    return concat(table, pieces, along)


def concat(table: Table, values: Sequence[int], axis: int) -> int:
    """Concatenate along an axis; nested concatenations are flattened, and adjacent slices are joined."""
    values = [value for value in values if table.shape[value][axis]] or values[:1]
    if len(values) == 1:
        return values[0]
    first = table.shape[values[0]]
    total = sum(table.shape[value][axis] for value in values)
    shape = (*first[:axis], total, *first[axis + 1 :])
    if 0 in shape:
        return table.zeros(shape, table.dtype[values[0]])
    core_axis = len(solid(first[:axis]))
    lead, tail = solid(first[:axis]), solid(first[axis + 1 :])
    pieces: list[int] = []
    for value in values:
        core = reshape(table, value, (*lead, table.shape[value][axis], *tail))
        flat = table.op[core] == "concat" and axis_of(table, core) == core_axis
        for piece in table.inputs[core] if flat else (core,):
            joined = join(table, pieces[-1], piece, core_axis) if pieces else None
            if joined is None:
                pieces.append(piece)
            else:
                pieces[-1] = joined
    if len(pieces) == 1:
        return reshape(table, pieces[0], shape)
    if total <= FOLDABLE_ELEMENTS and all(table.value(piece) is not None for piece in pieces):
        arrays = [np.asarray(table.value(piece)) for piece in pieces]
        return table.const(np.concatenate(arrays, core_axis).reshape(shape))
    outer = min((axis_of(table, piece) for piece in pieces if table.op[piece] == "concat"), default=core_axis)
    if outer < core_axis:
        return reshape(table, _turned_inside_out(table, pieces, core_axis, outer), shape)
    core_shape = (*lead, total, *tail)
    return reshape(table, table.node("concat", core_axis, pieces, core_shape, table.dtype[pieces[0]]), shape)


def _turned_inside_out(table: Table, pieces: Sequence[int], axis: int, outer: int) -> int:
    """Re-nest concatenations so that the first axis is outermost, since stacks of layers lie along it."""
    ends: set[int] = set()
    for piece in pieces:
        if table.op[piece] == "concat" and axis_of(table, piece) == outer:
            ends |= set(accumulate(table.shape[each][outer] for each in table.inputs[piece]))
    rows, start = [], 0
    for stop in sorted(ends):
        parts = []
        for piece in pieces:
            bounds = list(full(table.shape[piece]))
            bounds[outer] = (start, stop)
            parts.append(cut(table, piece, tuple(bounds)))
        rows.append(concat(table, parts, axis))
        start = stop
    return concat(table, rows, outer)


def axis_of(table: Table, value: int) -> int:
    axis = table.params[value]
    assert isinstance(axis, int)
    return axis


def join(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join two neighbours: adjacent slices of one array, equal fills, repeats of a row, or operations on these."""
    return table.once(_joined, left, right, axis)


def _joined(table: Table, left: int, right: int, axis: int) -> int | None:
    shape, other = table.shape[left], table.shape[right]
    joined = (*shape[:axis], shape[axis] + other[axis], *shape[axis + 1 :])
    if table.op[left] == "fill" and table.op[right] == "fill":
        same = table.params[left] == table.params[right]
        return table.fill(table.fill_value(left), joined) if same else None
    a, b = peel(table, left), peel(table, right)
    if table.op[a] == table.op[b] == "slice" and table.inputs[a] == table.inputs[b]:
        next_to = _join_slices(table, a, b, joined, axis)
        if next_to is not None:
            return next_to
    row = repeated(table, left, axis)
    if row is not None and row == repeated(table, right, axis):
        return broadcast(table, row, joined, [d for d in range(len(joined)) if d != axis])
    rule = JOIN_THROUGH.get(table.op[a]) if table.op[a] == table.op[b] else None
    return rule(table, left, right, axis) if rule else None


def _join_slices(table: Table, left: int, right: int, joined: Shape, axis: int) -> int | None:
    a, b = table.params[left], table.params[right]
    assert isinstance(a, tuple) and isinstance(b, tuple)
    apart = [d for d in range(len(a)) if a[d] != b[d]]
    if len(apart) != 1 or a[apart[0]][1] != b[apart[0]][0]:
        return None
    along = apart[0]
    bounds = (*a[:along], (a[along][0], b[along][1]), *a[along + 1 :])
    if len(solid(sizes(bounds)[:along])) != axis:
        return None
    return reshape(table, cut(table, table.inputs[left][0], bounds), joined)


# Rules that join neighbouring results of an operation by joining its operands.
JOIN_THROUGH: dict[str, Callable[[Table, int, int, int], int | None]] = {}


def repeated(table: Table, value: int, axis: int) -> int | None:
    """Return the row that a value repeats along the axis, or None."""
    shape = table.shape[value]
    row_shape = (*shape[:axis], *shape[axis + 1 :])
    if table.op[value] == "fill":
        return table.fill(table.fill_value(value), row_shape)
    if shape[axis] == 1:
        return reshape(table, value, row_shape)
    core = peel(table, value)
    if table.op[core] != "broadcast":
        return None
    places = table.params[core]
    assert isinstance(places, tuple)
    if len(solid(shape[:axis])) in places:
        return None
    bounds = (*full(shape[:axis]), (0, 1), *full(shape[axis + 1 :]))
    return reshape(table, cut(table, value, bounds), row_shape)


def cut(table: Table, value: int, bounds: Bounds) -> int:
    """Return the box of a value within bounds (start, stop) per axis, pushed through operations in `SLICE_THROUGH`."""
    old = table.shape[value]
    shape = sizes(bounds)
    if bounds == full(old):
        return value
    if 0 in shape:
        return table.zeros(shape, table.dtype[value])
    answer = table.once(_part, value, bounds)
    assert answer is not None
    return answer


def _part(table: Table, value: int, bounds: Bounds) -> int:
    inner = peel(table, value)
    box = carry_bounds(bounds, table.shape[value], table.shape[inner])
    rule = SLICE_THROUGH.get(table.op[inner])
    answer = rule(table, inner, box) if rule else None
    if answer is None:
        answer = table.node("slice", box, (inner,), sizes(box), table.dtype[inner])
    return reshape(table, answer, sizes(bounds))


def _cut_fill(table: Table, value: int, box: Bounds) -> int:
    return table.fill(table.fill_value(value), sizes(box))


def _cut_const(table: Table, value: int, box: Bounds) -> int | None:
    array = table.arrays.get(value)
    return None if array is None else table.const(array[tuple(slice(*pair) for pair in box)])


def _cut_slice(table: Table, value: int, box: Bounds) -> int:
    outer = table.params[value]
    assert isinstance(outer, tuple)
    moved = tuple((base + start, base + stop) for (base, _), (start, stop) in zip(outer, box, strict=True))
    return cut(table, table.inputs[value][0], moved)


def _cut_concat(table: Table, value: int, box: Bounds) -> int:
    axis = axis_of(table, value)
    low, high = box[axis]
    pieces, at = [], 0
    for piece in table.inputs[value]:
        size = table.shape[piece][axis]
        start, stop = max(low - at, 0), min(high - at, size)
        if start < stop:
            pieces.append(cut(table, piece, (*box[:axis], (start, stop), *box[axis + 1 :])))
        at += size
    return concat(table, pieces, axis)


def _cut_transpose(table: Table, value: int, box: Bounds) -> int:
    order = table.params[value]
    assert isinstance(order, tuple)
    inner = tuple(box[order.index(axis)] for axis in range(len(order)))
    return transpose(table, cut(table, table.inputs[value][0], inner), order)


def _cut_broadcast(table: Table, value: int, box: Bounds) -> int:
    places = table.params[value]
    assert isinstance(places, tuple)
    row = cut(table, table.inputs[value][0], tuple(box[place] for place in places))
    return broadcast(table, row, sizes(box), places)


def _cut_reshape(table: Table, value: int, box: Bounds) -> int | None:
    inner = table.inputs[value][0]
    bounds = unreshape(box, table.shape[inner], table.shape[value])
    return None if bounds is None else reshape(table, cut(table, inner, bounds), sizes(box))


SLICE_THROUGH: dict[str, Callable[[Table, int, Bounds], int | None]] = {
    "fill": _cut_fill,
    "const": _cut_const,
    "slice": _cut_slice,
    "concat": _cut_concat,
    "transpose": _cut_transpose,
    "broadcast": _cut_broadcast,
    "reshape": _cut_reshape,
}
