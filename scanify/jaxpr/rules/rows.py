"""Row operations: along some axes, a part of the result is the operation of parts of the operands.

Such an axis is a line. A sum over the last axis has a line for every other one; a matrix product has one for each axis
of its result, which runs along an axis of one operand, or of both if it is a batch axis; sorting has one for every axis
but the sorted one. A row along a line of size 1 is represented without the line. So the operation is pushed into
concatenations piece by piece, slices are pushed through it, and the result of vmap for all layers at once becomes the
results of a loop over the layers.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from scanify.jaxpr.rules.elements import PIECES
from scanify.jaxpr.rules.shapes import Bounds, Shape, full, sizes, solid, solid_axes
from scanify.jaxpr.rules.views import (
    JOIN_THROUGH,
    SLICE_THROUGH,
    axis_of,
    broadcast,
    concat,
    cut,
    join,
    peel,
    repeated,
    reshape,
    transpose,
)
from scanify.jaxpr.table import Table

# For each axis of the result, the axis of each operand that it runs along, -1 if all parts use the whole operand; for
# an axis that is not a line, its size.
Line = tuple[int, ...]
Lines = tuple[Line | int, ...]


def rows(
    table: Table, op: str, key: Hashable, values: Sequence[int], lines: Lines, dtypes: tuple[Any, ...]
) -> list[int]:
    """Return the results of an operation, which have one shape; `key` identifies everything except the lines."""
    shape = _shape(table, values, lines)
    if 0 in shape:
        return [table.zeros(shape, dtype) for dtype in dtypes]
    values, lines = _without_units(table, values, lines)
    lined = _shape(table, values, lines)
    values, lines, kept = _without_repeats(table, values, lines)
    values, lines = _without_transposes(table, values, lines)
    found = _by_pieces(table, op, key, values, lines, dtypes)
    if found is None:
        if op == "dot_general":
            values, lines = _factors_in_order(table, values, lines, key)
        lines, order = _in_order(lines)
        core, params = _shape(table, values, lines), (lines, key, dtypes)
        if len(dtypes) == 1:
            found = [table.node(op, params, values, core, dtypes[0])]
        else:
            whole = table.node(op, params, values, (), None)
            found = [table.node("out", index, (whole,), core, dtype) for index, dtype in enumerate(dtypes)]
        found = [transpose(table, value, order) for value in found]
    return [reshape(table, broadcast(table, value, lined, kept), shape) for value in found]


def _factors_in_order(table: Table, values: Sequence[int], lines: Lines, key: Hashable) -> tuple[Sequence[int], Lines]:
    """Sort the factors of a product by shape and then by number, and adapt the lines.

    The product of two elements is commutative. The order of summation follows the axes of either factor if they are
    contracted in the same order in both. `_in_order` permutes the axes of the result accordingly.
    """
    assert isinstance(key, tuple)
    summed, same_precision, _ = key
    first, second = ((len(table.shape[value]), table.shape[value], value) for value in values)
    if first <= second or not same_precision or summed != tuple(sorted(summed)):
        return values, lines
    return values[::-1], tuple(line if isinstance(line, int) else line[::-1] for line in lines)


def _shape(table: Table, values: Sequence[int], lines: Lines) -> Shape:
    found = []
    for line in lines:
        if isinstance(line, int):
            found.append(line)
        else:
            found.append(next(table.shape[v][a] for v, a in zip(values, line, strict=True) if a >= 0))
    return tuple(found)


def _without_units(table: Table, values: Sequence[int], lines: Lines) -> tuple[list[int], Lines]:
    """Remove lines of size 1 from operands and lines."""
    values, sizes_of = list(values), _shape(table, values, lines)
    if 1 not in sizes_of:
        return values, lines
    gone = [line for line, size in zip(lines, sizes_of, strict=True) if not isinstance(line, int) and size == 1]
    for index, value in enumerate(values):
        axes = {line[index] for line in gone} - {-1}
        values[index] = reshape(table, value, tuple(n for a, n in enumerate(table.shape[value]) if a not in axes))

    def renumbered(line: Line) -> Line:
        return tuple(
            axis - sum(0 <= other[index] < axis for other in gone) if axis >= 0 else -1
            for index, axis in enumerate(line)
        )

    # An axis of the result that is not a line stays, whatever its size.
    kept = [line for line, size in zip(lines, sizes_of, strict=True) if isinstance(line, int) or size != 1]
    return values, tuple(line if isinstance(line, int) else renumbered(line) for line in kept)


def _without_repeats(table: Table, values: Sequence[int], lines: Lines) -> tuple[list[int], Lines, list[int]]:
    """Remove axes along which operands repeat a row; also return the positions of the remaining lines.

    A line along which every operand repeats a row is removed, since the result repeats one, too.
    """
    values, left, kept = list(values), list(lines), list[int]()
    for place in range(len(lines)):
        line = left[place]
        for index, axis in enumerate(() if isinstance(line, int) else line):
            row = repeated(table, values[index], axis) if axis >= 0 else None
            if row is not None:
                values[index] = row
                left = [_without_axis(each, index, axis) for each in left]
        line = left[place]
        kept += [place] if isinstance(line, int) or max(line) >= 0 else []
    return values, tuple(left[place] for place in kept), kept


def _without_axis(line: Line | int, index: int, gone: int) -> Line | int:
    """Return the line after an axis of one operand was removed."""
    if isinstance(line, int):
        return line
    now = -1 if line[index] == gone else line[index] - (line[index] > gone)
    return (*line[:index], now, *line[index + 1 :])


def _without_transposes(table: Table, values: Sequence[int], lines: Lines) -> tuple[list[int], Lines]:
    """Replace transposed operands by the originals, and adapt the lines.

    Along axes that are not lines, the operation depends on their order (it sums over the first, then the second). If
    that order differs in the original, the operand stays transposed.
    """
    values = list(values)
    for index, value in enumerate(values):
        if table.op[value] != "transpose":
            continue
        order = table.params[value]
        assert isinstance(order, tuple)
        along = {line[index] for line in lines if not isinstance(line, int)}
        whole = [order[axis] for axis in range(len(order)) if axis not in along]
        if whole == sorted(whole):
            values[index] = table.inputs[value][0]
            lines = tuple(line if isinstance(line, int) else _before(line, index, order) for line in lines)
    return values, lines


def _before(line: Line, index: int, order: tuple[int, ...]) -> Line:
    """Return the line with the axis of one operand before its transpose."""
    return tuple(order[axis] if at == index and axis >= 0 else axis for at, axis in enumerate(line))


def _in_order(lines: Lines) -> tuple[Lines, tuple[int, ...]]:
    """Sort the lines by the axes of the first operand, then of the second, followed by axes that are not lines.

    Also return the resulting permutation of the result's axes.
    """

    def place(axis: int) -> tuple[int, ...]:
        line = lines[axis]
        if isinstance(line, int):
            return len(lines), axis
        first = next(index for index, along in enumerate(line) if along >= 0)
        return first, line[first]

    found = sorted(range(len(lines)), key=place)
    return tuple(lines[axis] for axis in found), tuple(sorted(range(len(found)), key=found.__getitem__))


def _by_pieces(
    table: Table, op: str, key: Hashable, values: Sequence[int], lines: Lines, dtypes: tuple[Any, ...]
) -> list[int] | None:
    for place, line in enumerate(lines):
        if isinstance(line, int):
            continue
        ends = sorted({end for v, axis in zip(values, line, strict=True) for end in ends_along(table, v, axis)})
        if not 1 < len(ends) <= PIECES:
            continue
        pieces, start = [], 0
        for stop in ends:
            parts = [part(table, v, axis, start, stop) for v, axis in zip(values, line, strict=True)]
            pieces.append(rows(table, op, key, parts, lines, dtypes))
            start = stop
        return [concat(table, piece, place) for piece in zip(*pieces, strict=True)]
    return None


def ends_along(table: Table, value: int, axis: int) -> list[int]:
    """Return the ends of the pieces of a concatenation along an axis; empty for any other value."""
    core = peel(table, value)
    if axis < 0 or table.op[core] != "concat":
        return []
    along = axis_of(table, core)
    if solid_axes(table.shape[value])[len(solid(table.shape[core][:along]))] != axis:
        return []
    ends, at = [], 0
    for piece in table.inputs[core]:
        at += table.shape[piece][along]
        ends.append(at)
    return ends


def part(table: Table, value: int, axis: int, start: int, stop: int) -> int:
    """`value[start:stop]` along an axis; the whole value for axis -1."""
    if axis < 0:
        return value
    shape = table.shape[value]
    return cut(table, value, (*full(shape[:axis]), (start, stop), *full(shape[axis + 1 :])))


def _cut(table: Table, value: int, box: Bounds) -> int | None:
    index, whole = _which(table, value)
    lines, key, dtypes = _read(table, whole)
    values, left, changed = list(table.inputs[whole]), list(full(sizes(box))), False
    for place, (line, bounds, size) in enumerate(zip(lines, box, table.shape[value], strict=True)):
        if isinstance(line, int):
            left[place] = bounds
        elif bounds != (0, size):
            values = [part(table, v, axis, *bounds) for v, axis in zip(values, line, strict=True)]
            changed = True
    if not changed:
        return None
    found = rows(table, table.op[whole], key, values, lines, dtypes)[index]
    return reshape(table, cut(table, found, tuple(left)), sizes(box))


def _join(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join neighbouring results by joining the operands."""
    shapes = table.shape[left], table.shape[right]
    place = len(solid(shapes[0][:axis]))
    (index, a), (other, b) = (_which(table, peel(table, value)) for value in (left, right))
    lines, key, dtypes = _read(table, a)
    if index != other or _read(table, b)[1:] != (key, dtypes) or any(isinstance(line, int) for line in lines[:place]):
        return None
    given, there = (_with_line(table, whole, place, shape[axis]) for whole, shape in ((a, shapes[0]), (b, shapes[1])))
    if given is None or there is None or len(given[0]) != len(there[0]):
        return None
    if given[1] and there[1] and given[1] != there[1]:
        return None
    line = given[1] or there[1]
    values, chosen = [], []
    for number, (x, y) in enumerate(zip(given[0], there[0], strict=True)):
        both = _both(table, x, y, given[1], there[1], number, line)
        if both is None:
            return None
        values.append(both[0])
        chosen.append(both[1])
    if all(axis < 0 for axis in chosen):
        return None
    whole = _inserted(_rest(lines, place, bool(given[1])), place, tuple(chosen))
    if whole != _inserted(_rest(_read(table, b)[0], place, bool(there[1])), place, tuple(chosen)):
        return None
    joined = (*shapes[0][:axis], shapes[0][axis] + shapes[1][axis], *shapes[0][axis + 1 :])
    return reshape(table, rows(table, table.op[a], key, values, whole, dtypes)[index], joined)


def _with_line(table: Table, whole: int, place: int, size: int) -> tuple[list[int], Line] | None:
    """Return the operands and the line at a place of the result; the line is empty for rows of size 1."""
    if size == 1:
        return list(table.inputs[whole]), ()
    line = _read(table, whole)[0][place]
    return None if isinstance(line, int) else (list(table.inputs[whole]), line)


def _both(table: Table, x: int, y: int, first: Line, second: Line, number: int, line: Line) -> tuple[int, int] | None:
    """Join two operands, and return the axis along which they are neighbours, -1 if they are equal."""
    if line and line[number] < 0:
        return (x, -1) if x == y else None
    if not line and x == y:
        return x, -1
    for axis in [line[number]] if line else range(len(table.shape[x]) + 1):
        parts = [v if own else _lifted(table, v, axis) for v, own in ((x, first), (y, second))]
        same = all(
            len(table.shape[p]) == len(table.shape[parts[0]]) and table.dtype[p] == table.dtype[x] for p in parts
        )
        others = [(*table.shape[p][:axis], *table.shape[p][axis + 1 :]) for p in parts]
        both = join(table, parts[0], parts[1], axis) if same and others[0] == others[1] else None
        if both is not None:
            return both, axis
    return None


def _lifted(table: Table, value: int, axis: int) -> int:
    shape = table.shape[value]
    return reshape(table, value, (*shape[:axis], 1, *shape[axis:]))


def _rest(lines: Lines, place: int, has: bool) -> Lines:
    """Return the lines without the line at a place and its axes."""
    if not has:
        return lines
    gone = lines[place]
    assert not isinstance(gone, int)

    def without(line: Line) -> Line:
        return tuple(a - (0 <= g < a) if a >= 0 else -1 for a, g in zip(line, gone, strict=True))

    return tuple(line if isinstance(line, int) else without(line) for i, line in enumerate(lines) if i != place)


def _inserted(lines: Lines, place: int, new: Line) -> Lines:
    def moved(line: Line) -> Line:
        return tuple(a + (0 <= n <= a) if a >= 0 else -1 for a, n in zip(line, new, strict=True))

    found: list[Line | int] = [line if isinstance(line, int) else moved(line) for line in lines]
    return (*found[:place], new, *found[place:])


def _which(table: Table, value: int) -> tuple[int, int]:
    """Return which result of which operation a value is."""
    if table.op[value] != "out":
        return 0, value
    index = table.params[value]
    assert isinstance(index, int)
    return index, table.inputs[value][0]


def _read(table: Table, whole: int) -> tuple[Lines, Hashable, tuple[Any, ...]]:
    params = table.params[whole]
    assert isinstance(params, tuple)
    lines, key, dtypes = params
    return lines, key, dtypes


def _cut_out(table: Table, value: int, box: Bounds) -> int | None:
    return _cut(table, value, box) if table.op[table.inputs[value][0]] in ROWS_OF else None


def _join_out(table: Table, left: int, right: int, axis: int) -> int | None:
    wholes = [table.inputs[peel(table, value)][0] for value in (left, right)]
    same = table.op[wholes[0]] == table.op[wholes[1]] and table.op[wholes[0]] in ROWS_OF
    return _join(table, left, right, axis) if same else None


REDUCTIONS = frozenset(
    {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor", "argmax"}
    | {"argmin"}
)
ALONG = frozenset({"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "sort", "top_k"})
KEYED = frozenset({"random_bits", "random_split", "random_fold_in", "random_seed", "random_unwrap", "random_wrap"})
ROWS_OF = frozenset({"dot_general", *REDUCTIONS, *ALONG, *KEYED})

for _op in ROWS_OF:
    SLICE_THROUGH[_op] = _cut
    JOIN_THROUGH[_op] = _join
SLICE_THROUGH["out"] = _cut_out
JOIN_THROUGH["out"] = _join_out
