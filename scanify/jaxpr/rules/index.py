"""Rules for primitives that read and write at indices: with constant indices, they are slices and concatenations.

A loop reads `x[3]`; a scan over `arange(n)` reads `x[i]`, and its transpose adds into zeros at i.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.combine import add_any
from scanify.jaxpr.rules.move import put
from scanify.jaxpr.rules.shapes import Bounds, Shape
from scanify.jaxpr.rules.signs import is_derivative
from scanify.jaxpr.table import Table

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering

# The largest number of windows of a gather or scatter that is taken apart; larger ones are one node.
WINDOWS = 512


def _starts(table: Table, numbers: list[int], rank: int) -> list[int] | None:
    values = [table.value(number) for number in numbers]
    known = [int(value) for value in values if value is not None]
    return known if len(known) == len(values) == rank else None


def _dynamic_slice(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Return a slice if the indices are constant; if all elements are equal, the indices do not matter.

    Like the primitive, clamp indices so that the slice lies inside.
    """
    table, value = numbering.table, inputs[0]
    sizes = tuple(int(size) for size in equation.params["slice_sizes"])
    if table.op[value] == "fill":
        return [table.fill(table.fill_value(value), sizes)]
    starts = _starts(table, inputs[1:], len(table.shape[value]))
    return None if starts is None else [views.cut(table, value, _clamped(starts, table.shape[value], sizes))]


def _clamped(starts: list[int], shape: Shape, sizes: Shape) -> Bounds:
    inside = [min(max(start, 0), size - part) for start, size, part in zip(starts, shape, sizes, strict=True)]
    return tuple((start, start + part) for start, part in zip(inside, sizes, strict=True))


def _dynamic_update_slice(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table, (value, update) = numbering.table, inputs[:2]
    starts = _starts(table, inputs[2:], len(table.shape[value]))
    if starts is None:
        return None
    return [put(table, value, update, _clamped(starts, table.shape[value], table.shape[update]))]


def _gather(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Return slices for constant windows that lie inside: `x[2]`, `x[jnp.array([0, 2])]` or `take_along_axis`."""
    table, (value, indices) = numbering.table, inputs
    numbers, shape = equation.params["dimension_numbers"], tuple(equation.outvars[0].aval.shape)
    sizes = tuple(int(size) for size in equation.params["slice_sizes"])
    batching = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    boxes = _windows(table, indices, numbers.start_index_map, list(batching), table.shape[value], sizes)
    if boxes is None:
        return None
    if 0 in shape:
        return [table.zeros(shape, table.dtype[value])]
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = tuple(size for axis, size in enumerate(sizes) if axis not in gone)
    pieces = iter([views.reshape(table, views.cut(table, value, box), window) for box in boxes])
    batch = table.shape[indices][:-1]
    places = [axis for axis in range(len(shape)) if axis not in numbers.offset_dims]
    order = [
        places.index(axis) if axis in places else len(batch) + list(numbers.offset_dims).index(axis)
        for axis in range(len(shape))
    ]
    return [views.transpose(table, _together(table, pieces, batch), order)]


def _together(table: Table, pieces: Iterator[int], batch: Shape) -> int:
    """Stack pieces, given in row-major order, along leading axes."""
    if not batch:
        return next(pieces)
    rows = [_together(table, pieces, batch[1:]) for _ in range(batch[0])]
    return views.concat(table, [views.reshape(table, r, (1, *table.shape[r])) for r in rows], 0)


def _windows(
    table: Table, indices: int, axes: Any, batching: list[tuple[int, int]], shape: Shape, sizes: Shape
) -> list[Bounds] | None:
    """Return the boxes of `shape` selected by constant indices; None if one is unknown or not inside."""
    known = table.value(indices)
    if known is None or prod(known.shape[:-1]) > WINDOWS:
        return None
    boxes = []
    for place in np.ndindex(known.shape[:-1]):
        starts = [0] * len(shape)
        for axis, start in zip(axes, known[place], strict=True):
            starts[axis] = int(start)
        for axis, along in batching:
            starts[axis] = place[along]
        if any(not 0 <= start <= size - part for start, size, part in zip(starts, shape, sizes, strict=True)):
            return None
        boxes.append(tuple((start, start + part) for start, part in zip(starts, sizes, strict=True)))
    return boxes


def _scatter(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Handle `x.at[i].set(u)` and the transpose of `x[i]` (scatter-add into zeros), with constant indices that lie
    inside.

    Adding to zeros is a sum of cotangents (`combine.add_any`); adding to anything else is kept. 0.0 + -0.0 is 0.0, so
    that holds only for values computed from cotangents (`signs.is_derivative`), since users write `.at[i].add`, too. If
    two windows overlap, it is unspecified which one is set last. Zeros added to zeros are zeros in any case.
    """
    table, (value, indices, update) = numbering.table, inputs
    adds = equation.primitive.name == "scatter-add"
    if adds and table.is_zero(value) and table.is_zero(update):
        return [value]
    # `x.at[i].apply(f)` is also a scatter, with another function: `scatter_apply` in jax/_src/lax/slicing.py.
    if not adds and equation.params["update_jaxpr"] is not None:
        return None
    numbers, shape, given = equation.params["dimension_numbers"], table.shape[value], table.shape[update]
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    inner = iter([given[axis] for axis in numbers.update_window_dims])
    part = tuple(1 if axis in gone else next(inner) for axis in range(len(shape)))
    batching = zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    boxes = _windows(table, indices, numbers.scatter_dims_to_operand_dims, list(batching), shape, part)
    ordered = not adds or numbering.enclosing.in_written_rule()
    if boxes is None or (ordered and not _apart(boxes)):
        return None
    if adds and not (
        numbering.cotangents
        and not numbering.exact
        and is_derivative(numbering, update)
        and all(table.is_zero(views.cut(table, value, box)) for box in boxes)
    ):
        return None
    table.zeros_left_out += adds
    batch = [axis for axis in range(len(given)) if axis not in numbers.update_window_dims]
    for place, box in zip(np.ndindex(*(given[axis] for axis in batch)), boxes, strict=True):
        bounds = [(0, size) for size in given]
        for axis, index in zip(batch, place, strict=True):
            bounds[axis] = (index, index + 1)
        window = views.reshape(table, views.cut(table, update, tuple(bounds)), part)
        if adds:
            window = add_any(table, [views.cut(table, value, box), window])
        value = put(table, value, window, box)
    return [value]


def _apart(boxes: list[Bounds]) -> bool:
    """True if no two boxes of one shape overlap."""
    if len(boxes) < 2:
        return True
    starts = np.array([[start for start, _ in box] for box in boxes])
    sizes = np.array([stop - start for start, stop in boxes[0]])
    near = np.all(np.abs(starts[:, None] - starts[None]) < sizes, axis=-1)
    return bool(near.sum() == len(boxes))


INDEXED: dict[str, Callable[["Numbering", Any, list[int]], list[int] | None]] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
}
