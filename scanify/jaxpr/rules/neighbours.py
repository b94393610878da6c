"""Neighbouring rows of one operation as one value, where what they are of is: for operations that move elements."""

from scanify.jaxpr.rules.shapes import full, solid, solid_axes
from scanify.jaxpr.rules.views import JOIN_THROUGH, axis_of, broadcast, concat, convert, cut, join, peel, reshape
from scanify.jaxpr.table import Table


def _join_converted(table: Table, left: int, right: int, axis: int) -> int | None:
    """Rows that were converted are the converted rows."""
    shapes = table.shape[left], table.shape[right]
    inner = [table.inputs[peel(table, value)][0] for value in (left, right)]
    if table.dtype[inner[0]] != table.dtype[inner[1]]:
        return None
    rows = [reshape(table, value, shape) for value, shape in zip(inner, shapes, strict=True)]
    joined = join(table, rows[0], rows[1], axis)
    return None if joined is None else convert(table, joined, table.dtype[left])


def _join_across(table: Table, left: int, right: int, axis: int) -> int | None:
    """Two concatenations along another axis, cut at the same places: the concatenation of the joined pieces."""
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
    """Rows that were repeated along other axes are the rows, repeated."""
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
    """Rows of the outermost axis that were reshaped are the reshaped rows."""
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


JOIN_THROUGH["convert_element_type"] = _join_converted
JOIN_THROUGH["concat"] = _join_across
JOIN_THROUGH["broadcast"] = _join_broadcast
JOIN_THROUGH["reshape"] = _join_reshape
