"""`lax.rev`: reverse the elements along some axes."""

from collections.abc import Sequence

import numpy as np

from scanify.jaxpr.rules.shapes import Bounds
from scanify.jaxpr.rules.views import SLICE_THROUGH, axis_of, concat, cut, transpose
from scanify.jaxpr.table import Table


def reverse(table: Table, value: int, axes: Sequence[int]) -> int:
    """Reverse a value; axes of size 1 are skipped, and concatenations are reversed piece by piece."""
    shape = table.shape[value]
    axes = tuple(sorted(axis for axis in axes if shape[axis] != 1))
    if not axes or table.op[value] == "fill":
        return value
    if value in table.arrays:
        return table.const(np.flip(table.arrays[value], axes))
    if table.op[value] == "concat":
        along = axis_of(table, value)
        pieces = [reverse(table, piece, axes) for piece in table.inputs[value]]
        return concat(table, pieces[::-1] if along in axes else pieces, along)
    if table.op[value] == "transpose":
        order = table.params[value]
        assert isinstance(order, tuple)
        return transpose(table, reverse(table, table.inputs[value][0], [order[axis] for axis in axes]), order)
    return table.node("rev", axes, (value,), shape, table.dtype[value])


def _cut(table: Table, value: int, box: Bounds) -> int:
    axes = table.params[value]
    assert isinstance(axes, tuple)
    shape = table.shape[value]
    turned = tuple(
        (shape[axis] - stop, shape[axis] - start) if axis in axes else (start, stop)
        for axis, (start, stop) in enumerate(box)
    )
    return reverse(table, cut(table, table.inputs[value][0], turned), axes)


SLICE_THROUGH["rev"] = _cut
