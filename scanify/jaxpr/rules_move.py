"""Rules for primitives that move elements: each is said in terms of the normal forms of `views`."""

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from scanify.jaxpr import views
from scanify.jaxpr.shapes import Bounds, full
from scanify.jaxpr.table import Table

if TYPE_CHECKING:
    from scanify.jaxpr.number import Numbering

Rule = Callable[["Numbering", Any, list[int]], "list[int] | None"]


def _shape(equation: Any) -> tuple[int, ...]:
    return tuple(equation.outvars[0].aval.shape)


def _reshape(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """`dimensions` of reshape transposes first, which jnp no longer asks for; more operands are sizes not known
    here."""
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
    starts, stops, strides = (equation.params[name] for name in ("start_indices", "limit_indices", "strides"))
    if strides is not None and any(stride != 1 for stride in strides):
        return None
    box = tuple((int(start), int(stop)) for start, stop in zip(starts, stops, strict=True))
    return [views.cut(numbering.table, inputs[0], box)]


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
    """`value[index]`: one row along an axis, without the axis."""
    shape = table.shape[value]
    lead, tail = shape[:axis], shape[axis + 1 :]
    return views.reshape(table, views.cut(table, value, (*full(lead), (index, index + 1), *full(tail))), (*lead, *tail))


def _split(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table, (value,) = numbering.table, inputs
    axis, shape = int(equation.params["axis"]), numbering.table.shape[inputs[0]]
    ends = [0, *np.cumsum([int(size) for size in equation.params["sizes"]]).tolist()]
    return [views.cut(table, value, (*full(shape[:axis]), pair, *full(shape[axis + 1 :]))) for pair in pairwise(ends)]


def _rev(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    return [views.reverse(numbering.table, inputs[0], tuple(int(axis) for axis in equation.params["dimensions"]))]


def _pad(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Padding with a constant is a concatenation with constants: how jax transposes a slice. Negative padding is a
    slice."""
    table, (value, padding) = numbering.table, inputs
    config = [tuple(int(n) for n in triple) for triple in equation.params["padding_config"]]
    if table.op[padding] != "fill" or any(interior for _, _, interior in config):
        return None
    scalar = table.fill_value(padding)
    for axis, (low, high, _) in enumerate(config):
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


def _indices(table: Table, numbers: list[int]) -> list[int] | None:
    values = [table.value(number) for number in numbers]
    return [int(value) for value in values if value is not None] if all(v is not None for v in values) else None


def _dynamic_slice(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """With constant indices a slice. Indices are clamped so that the slice lies inside, as the primitive does."""
    table, value = numbering.table, inputs[0]
    starts = _indices(table, inputs[1:])
    if starts is None or len(starts) != len(table.shape[value]):
        return None
    return [views.cut(table, value, _clamped(starts, table.shape[value], equation.params["slice_sizes"]))]


def _clamped(starts: list[int], shape: tuple[int, ...], sizes: tuple[int, ...]) -> Bounds:
    inside = [min(max(start, 0), size - part) for start, size, part in zip(starts, shape, sizes, strict=True)]
    return tuple((start, start + part) for start, part in zip(inside, sizes, strict=True))


def _dynamic_update_slice(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    table, (value, update) = numbering.table, inputs[:2]
    starts = _indices(table, inputs[2:])
    if starts is None or len(starts) != len(table.shape[value]):
        return None
    return [put(table, value, update, _clamped(starts, table.shape[value], table.shape[update]))]


def put(table: Table, value: int, update: int, box: Bounds) -> int:
    """The value with the box replaced: concatenations of what is around it, axis by axis."""
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


def _batched(numbers: Any) -> bool:
    return len(getattr(numbers, "operand_batching_dims", None) or ()) > 0


def _gather(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """Constant rows of one axis, `x[2]` or `x[jnp.array([0, 2])]`: slices one after another, where all lie inside."""
    table, (value, indices) = numbering.table, inputs
    numbers, dims = equation.params["dimension_numbers"], table.shape[value]
    known, sizes = table.value(indices), tuple(int(size) for size in equation.params["slice_sizes"])
    if known is None or len(numbers.start_index_map) != 1 or _batched(numbers):
        return None
    axis = numbers.start_index_map[0]
    if tuple(numbers.collapsed_slice_dims) not in ((axis,), ()) or known.ndim > 2 or known.shape[-1] != 1:
        return None
    rows = [int(index) for index in known.reshape(-1)]
    if any(not 0 <= index <= dims[axis] - sizes[axis] for index in rows):
        return None
    shape = _shape(equation)
    boxes = [_clamped([index if d == axis else 0 for d in range(len(dims))], dims, sizes) for index in rows]
    if known.ndim == 1:
        return [views.reshape(table, views.cut(table, value, boxes[0]), shape)]
    batch = next(d for d in range(len(shape)) if d not in numbers.offset_dims)
    piece = (*shape[:batch], 1, *shape[batch + 1 :])
    if not rows:
        return [table.zeros(shape, table.dtype[value])]
    return [views.concat(table, [views.reshape(table, views.cut(table, value, box), piece) for box in boxes], batch)]


def _scatter(numbering: "Numbering", equation: Any, inputs: list[int]) -> list[int] | None:
    """`x.at[i].set(u)` and the transpose of `x[i]` (scatter-add into zeros), with one constant index that lies inside.

    Adding to zeros counts as the sum of cotangents that it is (`combine.add_any`); adding to anything else is left as
    it is. 0.0 + -0.0 is 0.0, so that holds among cotangents only (`Numbering.cotangents`), for users write `.at[i].add`
    too.
    """
    table, (value, indices, update) = numbering.table, inputs
    adds = equation.primitive.name == "scatter-add"
    # `x.at[i].apply(f)` is a scatter of another function, too: `scatter_apply` in jax/_src/lax/slicing.py.
    if not adds and equation.params["update_jaxpr"] is not None:
        return None
    numbers, shape = equation.params["dimension_numbers"], table.shape[value]
    known = table.value(indices)
    window = [d for d in range(len(shape)) if d not in numbers.inserted_window_dims]
    if known is None or known.ndim != 1 or _batched(numbers):
        return None
    if tuple(numbers.update_window_dims) != tuple(range(len(table.shape[update]))):
        return None
    part = [1] * len(shape)
    for axis, size in zip(window, table.shape[update], strict=True):
        part[axis] = size
    starts = [0] * len(shape)
    for axis, index in zip(numbers.scatter_dims_to_operand_dims, known, strict=True):
        starts[axis] = int(index)
    if any(not 0 <= start <= size - piece for start, size, piece in zip(starts, shape, part, strict=True)):
        return None
    box = tuple((start, start + size) for start, size in zip(starts, part, strict=True))
    update = views.reshape(table, update, tuple(part))
    if adds and not (numbering.cotangents and table.is_zero(views.cut(table, value, box))):
        return None
    return [put(table, value, update, box)]


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
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
}
