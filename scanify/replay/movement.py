"""Rules for primitives that move elements, or that read and write at known indices."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from scanify.replay import moves, pointwise
from scanify.replay.reshape import reshape
from scanify.replay.rules import Rule, Run, fields, ints, optional
from scanify.replay.values import Shape

# The largest number of windows of a gather or scatter that is taken apart.
WINDOWS = 512


def _reshape(run: Run, operands: list[int]) -> list[int] | None:
    if len(operands) != 1 or (run.equation.name == "reshape" and run.equation.params.get("dimensions") is not None):
        return None
    return [reshape(run.values, operands[0], run.equation.outputs[0].shape)]


def _broadcast(run: Run, operands: list[int]) -> list[int] | None:
    if len(operands) != 1:
        return None
    axes = ints(run.equation.params["broadcast_dimensions"])
    return [moves.broadcast(run.values, operands[0], run.equation.outputs[0].shape, axes)]


def _transpose(run: Run, operands: list[int]) -> list[int] | None:
    return [moves.transpose(run.values, operands[0], ints(run.equation.params["permutation"]))]


def _slice(run: Run, operands: list[int]) -> list[int] | None:
    params = run.equation.params
    starts, stops = ints(params["start_indices"]), ints(params["limit_indices"])
    return [moves.cut(run.values, operands[0], starts, stops, optional(params["strides"]) or [1] * len(starts))]


def _concatenate(run: Run, operands: list[int]) -> list[int] | None:
    return [moves.concatenate(run.values, operands, run.equation.params["dimension"])]


def _stack(run: Run, operands: list[int]) -> list[int] | None:
    return [moves.stack(run.values, operands, run.equation.params["axis"])]


def _unstack(run: Run, operands: list[int]) -> list[int] | None:
    axis = run.equation.params["axis"]
    return [moves.row(run.values, operands[0], index, axis) for index in range(len(run.equation.outputs))]


def _split(run: Run, operands: list[int]) -> list[int] | None:
    return moves.split(run.values, operands[0], ints(run.equation.params["sizes"]), run.equation.params["axis"])


def _rev(run: Run, operands: list[int]) -> list[int] | None:
    return [moves.reverse(run.values, operands[0], ints(run.equation.params["dimensions"]))]


def _pad(run: Run, operands: list[int]) -> list[int] | None:
    number, padding = operands
    scalar = run.values[padding].pieces[0][1]
    config = [ints(each) for each in run.equation.params["padding_config"]["tuple"]]
    found = moves.pad(run.values, number, scalar, config) if scalar[0] == "is" else None
    return None if found is None else [found]


def _tile(run: Run, operands: list[int]) -> list[int] | None:
    return [moves.tile(run.values, operands[0], ints(run.equation.params["reps"]))]


def _starts(run: Run, operands: Sequence[int], shape: Shape, sizes: Shape) -> list[int] | None:
    """Return known start indices, clamped so that the window lies inside."""
    known = [run.values.constant(each) for each in operands]
    given = [int(each) for each in known if each is not None]
    if len(given) != len(shape):
        return None
    return [min(max(start, 0), whole - part) for start, whole, part in zip(given, shape, sizes, strict=True)]


def _dynamic_slice(run: Run, operands: list[int]) -> list[int] | None:
    value, sizes = run.values[operands[0]], tuple(ints(run.equation.params["slice_sizes"]))
    if len(value.pieces) == 1 and value.pieces[0][1][0] == "is":
        return [run.values.fill(value.pieces[0][1][1], sizes, value.dtype)]
    starts = _starts(run, operands[1:], value.shape, sizes)
    return None if starts is None else [moves.window(run.values, operands[0], starts, sizes)]


def _dynamic_update_slice(run: Run, operands: list[int]) -> list[int] | None:
    number, update = operands[:2]
    starts = _starts(run, operands[2:], run.values[number].shape, run.values[update].shape)
    return None if starts is None else [moves.put(run.values, number, update, starts)]


def _corners(run: Run, indices: int, axes: Any, pairs: Any, shape: Shape, sizes: Shape) -> list[list[int]] | None:
    """Return the starts of all windows; None if they are unknown or a window is not inside."""
    known = run.values.constant(indices)
    if known is None or prod(known.shape[:-1]) > WINDOWS:
        return None
    found = []
    for place in np.ndindex(known.shape[:-1]):
        starts = [0] * len(shape)
        for axis, start in zip(axes, known[place], strict=True):
            starts[axis] = int(start)
        for axis, along in pairs:
            starts[axis] = place[along]
        if any(not 0 <= start <= whole - part for start, whole, part in zip(starts, shape, sizes, strict=True)):
            return None
        found.append(starts)
    return found


def _gather(run: Run, operands: list[int]) -> list[int] | None:
    number, indices = operands
    params, values, shape = run.equation.params, run.values, run.equation.outputs[0].shape
    said, sizes = fields(params["dimension_numbers"]), tuple(ints(params["slice_sizes"]))
    own, theirs = ints(said["operand_batching_dims"]), ints(said["start_indices_batching_dims"])
    axes, pairs = ints(said["start_index_map"]), list(zip(own, theirs, strict=True))
    corners = _corners(run, indices, axes, pairs, values[number].shape, sizes)
    if corners is None or 0 in shape:
        return None
    gone = {*ints(said["collapsed_slice_dims"]), *own}
    window = tuple(size for axis, size in enumerate(sizes) if axis not in gone)
    parts = [reshape(values, moves.window(values, number, corner, sizes), window) for corner in corners]
    batch, offsets = values[indices].shape[:-1], ints(said["offset_dims"])
    whole = reshape(values, moves.stack(values, parts, 0), (*batch, *window))
    others = [axis for axis in range(len(shape)) if axis not in offsets]
    order = [others.index(a) if a in others else len(batch) + offsets.index(a) for a in range(len(shape))]
    return [moves.transpose(values, whole, order)]


def _scatter(run: Run, operands: list[int]) -> list[int] | None:
    """Replace windows, or add them to zeros, as for the cotangent of a row.

    If windows overlap, a sum written by the user has an order, and the certificate does not record who wrote it.
    """
    number, indices, update = operands
    params, values, adds = run.equation.params, run.values, run.equation.name == "scatter-add"
    if adds and values.is_zero(number) and values.is_zero(update):
        return [number]
    if not adds and params["update_jaxpr"] is not None:
        return None
    said, shape, given = fields(params["dimension_numbers"]), values[number].shape, values[update].shape
    own, theirs = ints(said["operand_batching_dims"]), ints(said["scatter_indices_batching_dims"])
    kept, gone = ints(said["update_window_dims"]), {*ints(said["inserted_window_dims"]), *own}
    inner = iter([given[axis] for axis in kept])
    part = tuple(1 if axis in gone else next(inner) for axis in range(len(shape)))
    axes = ints(said["scatter_dims_to_operand_dims"])
    corners = _corners(run, indices, axes, list(zip(own, theirs, strict=True)), shape, part)
    if corners is None or not _apart(corners, part) or (adds and not _are_zeros(run, number, update, corners, part)):
        return None
    run.left_out += adds
    batch = [axis for axis in range(len(given)) if axis not in kept]
    for place, corner in zip(np.ndindex(*(given[axis] for axis in batch)), corners, strict=True):
        starts, sizes = [0] * len(given), list(given)
        for axis, index in zip(batch, place, strict=True):
            starts[axis], sizes[axis] = index, 1
        window = reshape(values, moves.window(values, update, starts, sizes), part)
        if adds:
            both = [moves.window(values, number, corner, part), window]
            window, _ = pointwise.total(values, both, run.marks.term, signs=False)
        number = moves.put(values, number, window, corner)
    return [number]


def _are_zeros(run: Run, number: int, update: int, corners: list[list[int]], part: Shape) -> bool:
    if not run.cotangents or run.signs or not run.marks.whole(update):
        return False
    return all(run.values.is_zero(moves.window(run.values, number, corner, part)) for corner in corners)


def _apart(corners: list[list[int]], part: Shape) -> bool:
    """True if no two windows overlap."""
    at = np.array(corners).reshape(len(corners), len(part))
    meet = np.all(np.abs(at[:, None] - at[None]) < np.array(part), axis=-1)
    return int(meet.sum()) == len(corners)


MOVEMENT: dict[str, Rule] = {
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
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
}
