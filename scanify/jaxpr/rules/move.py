"""Rules for primitives that move elements, in terms of the normal forms of `views`."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from scanify.jaxpr.rules import neighbours as _neighbours  # noqa: F401  # registers its rules
from scanify.jaxpr.rules import views
from scanify.jaxpr.rules.reverse import reverse
from scanify.jaxpr.rules.shapes import Bounds, full
from scanify.jaxpr.table import Table

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering

Rule = Callable[["Numbering", Any, list[int]], "list[int] | None"]


def _shape(equation: Any) -> tuple[int, ...]:
    return tuple(equation.outvars[0].aval.shape)


def _reshape(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Reshape. `dimensions` would transpose first, but jnp no longer passes it; further operands are dynamic sizes."""
    turned = equation.primitive.name == "reshape" and equation.params.get("dimensions") is not None
    if turned or len(inputs) != 1:
        return None
    return [views.reshape(numbering.table, inputs[0], _shape(equation))]


def _broadcast(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    if len(inputs) != 1:
        return None
    axes = equation.params["broadcast_dimensions"]
    return [views.broadcast(numbering.table, inputs[0], _shape(equation), axes)]


def _transpose(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    return [views.transpose(numbering.table, inputs[0], equation.params["permutation"])]


def _slice(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table, shape = numbering.table, _shape(equation)
    if 0 in shape:
        return [table.zeros(shape, table.dtype[inputs[0]])]
    starts, stops, strides = (equation.params[name] for name in ("start_indices", "limit_indices", "strides"))
    box = tuple((int(start), int(stop)) for start, stop in zip(starts, stops, strict=True))
    value = views.cut(table, inputs[0], box)
    for axis, stride in enumerate(strides or ()):
        value = _every(table, value, axis, int(stride))
    return [value]


def _every(table: Table, value: int, axis: int, stride: int) -> int:
    """`value[::stride]` along an axis: the first row of each group, `x.reshape(-1, stride)[:, 0]`."""
    shape = table.shape[value]
    whole, left = divmod(shape[axis], stride)
    if stride == 1:
        return value
    lead, tail = shape[:axis], shape[axis + 1 :]

    def rows(start: int, stop: int) -> int:
        return views.cut(table, value, (*full(lead), (start, stop), *full(tail)))

    last = [rows(whole * stride, whole * stride + 1)] if left else []
    if not whole:
        return last[0]
    groups = views.reshape(table, rows(0, whole * stride), (*lead, whole, stride, *tail))
    first = views.cut(table, groups, (*full((*lead, whole)), (0, 1), *full(tail)))
    return views.concat(table, [views.reshape(table, first, (*lead, whole, *tail)), *last], axis)


def _concatenate(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    return [views.concat(numbering.table, inputs, int(equation.params["dimension"]))]


def _stack(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table, axis = numbering.table, int(equation.params["axis"])
    return [views.concat(table, [_lifted(table, value, axis) for value in inputs], axis)]


def _lifted(table: Table, value: int, axis: int) -> int:
    shape = table.shape[value]
    return views.reshape(table, value, (*shape[:axis], 1, *shape[axis:]))


def _unstack(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    axis = int(equation.params["axis"])
    return [row(numbering.table, inputs[0], index, axis) for index in range(len(equation.outvars))]


def row(table: Table, value: int, index: int, axis: int = 0) -> int:
    """`value[index]` along an axis, which is removed."""
    shape = table.shape[value]
    lead, tail = shape[:axis], shape[axis + 1 :]
    return views.reshape(table, views.cut(table, value, (*full(lead), (index, index + 1), *full(tail))), (*lead, *tail))


def _split(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table, (value,) = numbering.table, inputs
    axis, shape = int(equation.params["axis"]), numbering.table.shape[inputs[0]]
    ends = [0, *np.cumsum([int(size) for size in equation.params["sizes"]]).tolist()]
    return [views.cut(table, value, (*full(shape[:axis]), pair, *full(shape[axis + 1 :]))) for pair in pairwise(ends)]


def _rev(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    return [reverse(numbering.table, inputs[0], tuple(int(axis) for axis in equation.params["dimensions"]))]


def _pad(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Replace padding by a concatenation with constants, and negative padding by a slice.

    jax transposes a slice to padding. As in `put`, the first axis is outermost, since stacks lie along it.
    """
    table, (value, padding) = numbering.table, inputs
    config = [tuple(int(n) for n in triple) for triple in equation.params["padding_config"]]
    if table.op[padding] != "fill":
        return None
    scalar = table.fill_value(padding)
    for axis, (low, high, between) in reversed(list(enumerate(config))):
        value = _spread(table, value, axis, between, scalar)
        shape = table.shape[value]
        box = (*full(shape[:axis]), (max(-low, 0), shape[axis] - max(-high, 0)), *full(shape[axis + 1 :]))
        if box[axis][0] > box[axis][1]:
            return None
        value = views.cut(table, value, box)
        pieces = [value]
        if low > 0:
            pieces.insert(0, table.fill(scalar, (*shape[:axis], low, *shape[axis + 1 :])))
        if high > 0:
            pieces.append(table.fill(scalar, (*shape[:axis], high, *shape[axis + 1 :])))
        value = views.concat(table, pieces, axis)
    return [value]


def put(table: Table, value: int, update: int, box: Bounds) -> int:
    """Replace a box of the value: concatenate the parts around it, axis by axis."""
    shape = table.shape[value]
    for axis, (start, stop) in enumerate(box):
        if (start, stop) != (0, shape[axis]):
            lead, tail = full(shape[:axis]), full(shape[axis + 1 :])
            middle = views.cut(table, value, (*lead, (start, stop), *tail))
            inner = put(table, middle, update, (*lead, (0, stop - start), *box[axis + 1 :]))
            before = views.cut(table, value, (*lead, (0, start), *tail))
            after = views.cut(table, value, (*lead, (stop, shape[axis]), *tail))
            return views.concat(table, [before, inner, after], axis)
    return update


def _spread(table: Table, value: int, axis: int, between: int, scalar: Any) -> int:
    """Insert constants between rows, as in the transpose of a strided slice: groups of a row and constants."""
    shape = table.shape[value]
    if not between or shape[axis] < 2:
        return value
    lead, rows, tail = shape[:axis], shape[axis], shape[axis + 1 :]
    row = views.reshape(table, value, (*lead, rows, 1, *tail))
    groups = views.concat(table, [row, table.fill(scalar, (*lead, rows, between, *tail))], axis + 1)
    flat = views.reshape(table, groups, (*lead, rows * (between + 1), *tail))
    return views.cut(table, flat, (*full(lead), (0, rows * (between + 1) - between), *full(tail)))


def _tile(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Repeat an array along each axis."""
    table, (value,) = numbering.table, inputs
    for axis, copies in enumerate(equation.params["reps"]):
        shape = table.shape[value]
        lead, tail = shape[:axis], shape[axis + 1 :]
        wide = (*lead, int(copies), *shape[axis:])
        value = views.broadcast(table, value, wide, [d for d in range(len(wide)) if d != axis])
        value = views.reshape(table, value, (*lead, int(copies) * shape[axis], *tail))
    return [value]


MOVES: dict[str, Rule] = {
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "slice": _slice,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "split": _split,
    "rev": _rev,
    "pad": _pad,
    "tile": _tile,
}
