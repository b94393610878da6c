"""Elementwise operations: a part of the result is the operation of the parts.

So they are pushed into concatenations piece by piece, and slices are pushed through them to the operands. The result of
vmap for all layers at once becomes the results of a loop over the layers.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from scanify.jaxpr.primitives import COMMUTE, EACH
from scanify.jaxpr.rules.combine import by_pieces
from scanify.jaxpr.rules.shapes import Bounds, solid
from scanify.jaxpr.rules.views import (
    JOIN_THROUGH,
    SLICE_THROUGH,
    broadcast,
    cut,
    join,
    oriented,
    peel,
    repeated,
    reshape,
    turned,
)
from scanify.jaxpr.table import Table

# Concatenations of more pieces are not taken apart: stacks of layers are shorter.
PIECES = 512


def each(table: Table, op: str, key: Hashable, values: Sequence[int], dtype: Any) -> int:
    """Apply an elementwise operation to values of one shape; `key` identifies its parameters."""
    shape = table.shape[values[0]]
    cores = [reshape(table, value, solid(shape)) for value in values]
    answer = by_pieces(table, cores, lambda parts: each(table, op, key, parts, dtype), PIECES)
    if answer is None:
        answer = _repeating(table, cores, lambda rows: each(table, op, key, rows, dtype))
    if answer is None:
        cores, order = oriented(table, cores)
        answer = turned(table, table.node(op, key, cores, table.shape[cores[0]], dtype), order)
    return reshape(table, answer, shape)


def _repeating(table: Table, cores: Sequence[int], combine: Callable[[list[int]], int]) -> int | None:
    """Combine values that all repeat a row along one axis by combining the rows; None for others."""
    if not any(table.op[core] == "broadcast" for core in cores):
        return None
    shape = table.shape[cores[0]]
    for axis in range(len(shape)):
        rows = [repeated(table, core, axis) for core in cores]
        found = [row for row in rows if row is not None]
        if len(found) == len(cores):
            return broadcast(table, combine(found), shape, [d for d in range(len(shape)) if d != axis])
    return None


def _cut(table: Table, value: int, box: Bounds) -> int:
    parts = [cut(table, operand, box) for operand in table.inputs[value]]
    return each(table, table.op[value], table.params[value], parts, table.dtype[value])


def _join(table: Table, left: int, right: int, axis: int) -> int | None:
    """Join neighbouring results by joining the operands."""
    shapes = table.shape[left], table.shape[right]
    a, b = peel(table, left), peel(table, right)
    if table.params[a] != table.params[b] or table.dtype[a] != table.dtype[b]:
        return None
    left_rows = [reshape(table, value, shapes[0]) for value in table.inputs[a]]
    right_rows = [reshape(table, value, shapes[1]) for value in table.inputs[b]]
    orders = [right_rows, right_rows[::-1]] if table.op[a] in COMMUTE else [right_rows]
    for rows in orders:
        joined = _joined(table, left_rows, rows, axis)
        if joined is not None:
            return each(table, table.op[a], table.params[a], joined, table.dtype[a])
    return None


def _joined(table: Table, left: Sequence[int], right: Sequence[int], axis: int) -> list[int] | None:
    found = []
    for a, b in zip(left, right, strict=True):
        both = join(table, a, b, axis) if table.dtype[a] == table.dtype[b] else None
        if both is None:
            return None
        found.append(both)
    return found


for _op in EACH:
    SLICE_THROUGH[_op] = _cut
    JOIN_THROUGH[_op] = _join
