"""Join neighbouring rows of an operation that moves elements, if its operands can be joined."""

from scanify.jaxpr.rules.convert import convert
from scanify.jaxpr.rules.shapes import full, solid, solid_axes
from scanify.jaxpr.rules.views import JOIN_THROUGH, axis_of, broadcast, concat, cut, join, peel, reshape, transpose
from scanify.jaxpr.table import Table


def _join_converted(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join converted rows by converting the joined rows."""
    shapes = table.shape[left], table.shape[right]
    inner = [table.inputs[peel(table, value)][0] for value in (left, right)]
    if table.dtype[inner[0]] != table.dtype[inner[1]]:
        return None
    rows = [reshape(table, value, shape) for value, shape in zip(inner, shapes, strict=True)]
    joined = join(table, rows[0], rows[1], axis)
    return None if joined is None else convert(table, joined, table.dtype[left])


def _join_across(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join two concatenations along another axis with equal pieces by joining the pieces."""
    cores = [peel(table, value) for value in (left, right)]
    across = [solid_axes(table.shape[v])[axis_of(table, c)] for v, c in zip((left, right), cores, strict=True)]
    ends = [[table.shape[piece][axis_of(table, core)] for piece in table.inputs[core]] for core in cores]
    if across[0] != across[1] or across[0] == axis or ends[0] != ends[1]:
        return None
    pieces, start = [], 0
    for size in ends[0]:
        parts = []
        for value in (left, right):
            bounds = list(full(table.shape[value]))
            bounds[across[0]] = (start, start + size)
            parts.append(cut(table, value, tuple(bounds)))
        piece = join(table, parts[0], parts[1], axis)
        if piece is None:
            return None
        pieces.append(piece)
        start += size
    return concat(table, pieces, across[0])


def _join_broadcast(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join rows that were repeated along other axes by repeating the joined rows."""
    place, found = len(solid(table.shape[left][:axis])), []
    for value in (left, right):
        core = peel(table, value)
        places, row = table.params[core], table.inputs[core][0]
        assert isinstance(places, tuple)
        if table.shape[value][axis] == 1:
            at = sum(each < place for each in places)
            shape = table.shape[row]
            row = reshape(table, row, (*shape[:at], 1, *shape[at:]))
            places = (*places[:at], place, *(each + 1 for each in places[at:]))
        elif place not in places:
            return None
        found.append((places, row))
    (places, row), (others, other) = found
    along = places.index(place)
    joined = join(table, row, other, along) if places == others else None
    if joined is None:
        return None
    shape, more = table.shape[left], table.shape[right][axis]
    core_shape = solid((*shape[:axis], shape[axis] + more, *shape[axis + 1 :]))
    answer = broadcast(table, joined, core_shape, places)
    return reshape(table, answer, (*shape[:axis], shape[axis] + more, *shape[axis + 1 :]))


def _join_reshape(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join reshaped rows of the outermost axis by reshaping the joined rows."""
    if solid(table.shape[left][:axis]):
        return None
    parts = []
    for value in (left, right):
        inner, rows = table.inputs[peel(table, value)][0], table.shape[value][axis]
        shape = solid(table.shape[inner])
        if rows != 1 and shape[:1] != (rows,):
            return None
        parts.append(reshape(table, inner, (rows, *(shape if rows == 1 else shape[1:]))))
    if table.shape[parts[0]][1:] != table.shape[parts[1]][1:]:
        return None
    joined = join(table, parts[0], parts[1], 0)
    shape = table.shape[left]
    rows = shape[axis] + table.shape[right][axis]
    return None if joined is None else reshape(table, joined, (*shape[:axis], rows, *shape[axis + 1 :]))


def _join_transpose(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join rows with permuted axes by permuting the joined rows. An axis of size 1 may have been anywhere before."""
    shapes, place = (table.shape[left], table.shape[right]), len(solid(table.shape[left][:axis]))
    cores = [peel(table, value) for value in (left, right)]
    orders = [_order_of(table, core) for core in cores]
    single = [shape[axis] == 1 for shape in shapes]
    known = next((order[place] for order, one in zip(orders, single, strict=True) if not one), None)
    for at in range(len(orders[0]) + 1) if known is None else (known,):
        given = [_with_row(order, place, at) if one else order for order, one in zip(orders, single, strict=True)]
        if given[0] != given[1]:
            continue
        parts = []
        for core, one in zip(cores, single, strict=True):
            inner = table.inputs[core][0]
            shape = table.shape[inner]
            parts.append(reshape(table, inner, (*shape[:at], 1, *shape[at:])) if one else inner)
        joined = join(table, parts[0], parts[1], at)
        if joined is not None:
            shape = shapes[0]
            whole = (*shape[:axis], shape[axis] + shapes[1][axis], *shape[axis + 1 :])
            return reshape(table, transpose(table, joined, given[0]), whole)
    return None


def _order_of(table: Table, core: int) -> tuple[int, ...]:
    order = table.params[core]
    assert isinstance(order, tuple)
    return order


def _with_row(order: tuple[int, ...], place: int, at: int) -> tuple[int, ...]:
    """Return the order with an axis of size 1 inserted, moved from `at` to `place`."""
    moved = [axis + (axis >= at) for axis in order]
    return (*moved[:place], at, *moved[place:])


JOIN_THROUGH["transpose"] = _join_transpose
JOIN_THROUGH["convert_element_type"] = _join_converted
JOIN_THROUGH["concat"] = _join_across
JOIN_THROUGH["broadcast"] = _join_broadcast
JOIN_THROUGH["reshape"] = _join_reshape
