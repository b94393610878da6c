"""The arrays that each layer of a sequence reads, and how the arrays of many layers become one array to scan over."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.trees.as_jax import as_jax
from scanify.nn.trees.stack_leaves import stack_leaves
from scanify.nn.trees.structs import row_struct, struct


@dataclass(frozen=True, eq=False)
class Ref:
    """One layer's array: entry `row` of `source`, or `source` itself if `row` is None."""

    source: Any
    row: int | None = None

    def struct(self) -> jax.ShapeDtypeStruct:
        """Return its shape and dtype, without indexing."""
        return struct(self.source) if self.row is None else row_struct(self.source)

    @property
    def weak_type(self) -> bool:
        """True if its type is weak, like the type of its struct."""
        return bool(getattr(self.source, "weak_type", False))


def entries_of(stacked: Any, count: int) -> list[Any]:
    """Split a pytree of arrays with layers along axis 0 by layer, with a `Ref` for each array."""
    return [jax.tree.map(lambda array, row=row: Ref(array, row), stacked) for row in range(count)]


@dataclass(frozen=True, eq=False)
class Shared:
    """An array that all layers of a scan read: it is not scanned over, and its gradients are summed."""

    array: Any


@dataclass(frozen=True, eq=False)
class Slot:
    """The rows of a period that the layers of one run read: `count` rows from `start` on in block `block`."""

    block: int
    start: int
    count: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows `first + step * i + j` of an array, for `i` below `times` and `j` below `count`."""

    array: Any
    first: int
    step: int
    count: int
    times: int


class Inputs:
    """Provides the arrays for the parts of a program, each of which reads the refs of some layers.

    A source whose entries belong to the parts in order is split by one `lax.split`, whose transpose is one
    concatenation; slices would add up a padded copy of the whole stack for each part.
    """

    def __init__(self, parts: Sequence[Sequence[Ref]]) -> None:
        self._pieces: dict[tuple[int, int], tuple[Any, int]] = {}
        self._sources: dict[int, Any] = {}
        ranges: dict[int, list[tuple[int, int, int]]] = {}
        for part, refs in enumerate(parts):
            rows: dict[int, list[int]] = {}
            for ref in refs:
                if ref.row is not None:
                    self._sources[id(ref.source)] = ref.source
                    rows.setdefault(id(ref.source), []).append(ref.row)
            for source, found in rows.items():
                ranges.setdefault(source, []).append((part, min(found), max(found) + 1))
        self._arrays = {source: as_jax(array) for source, array in self._sources.items()}
        for source, spans in ranges.items():
            self._split(source, spans)

    def _split(self, source: int, spans: list[tuple[int, int, int]]) -> None:
        array = self._arrays[source]
        ordered = all(before[2] <= after[1] for before, after in pairwise(spans))
        if len(spans) < 2 or not ordered or not isinstance(array.dtype, np.dtype):
            return
        cuts = sorted({0, array.shape[0], *(end for span in spans for end in span[1:])})
        sizes = [stop - start for start, stop in pairwise(cuts)]
        pieces = jax.lax.split(array, sizes, axis=0)
        starts = dict(zip(cuts, pieces, strict=False))
        for part, start, stop in spans:
            piece = starts[start]
            if piece.shape[0] == stop - start:
                self._pieces[source, part] = (piece, start)

    def one(self, ref: Ref, part: int) -> Any:
        """Return the array of a single layer."""
        if ref.row is None:
            return jnp.asarray(ref.source)
        array, start = self._piece(ref, part)
        return array[ref.row - start]

    def many(self, refs: Sequence[Ref], shape: tuple[int, ...], part: int) -> Any:
        """Return the arrays of many layers with leading axes `shape`, or one `Shared`."""
        if all(ref.source is refs[0].source and ref.row == refs[0].row for ref in refs):
            return Shared(self.one(refs[0], part))
        if any(ref.row is None or ref.source is not refs[0].source for ref in refs):
            stacked = jnp.stack([self.one(ref, part) for ref in refs])
            return stacked.reshape(*shape, *stacked.shape[1:])
        array, start = self._piece(refs[0], part)
        rows = np.array([ref.row for ref in refs]).reshape(shape) - start
        return rows_of(array, rows)

    def in_periods(
        self, runs: Sequence[Sequence[Sequence[Ref]]], shapes: Sequence[tuple[int, int]], part: int
    ) -> tuple[list[list[Any]], list[Any]]:
        """Return the inputs of the runs of a period, and the blocks that their `Slot`s refer to, with one entry per
        period.

        For each run and each of its inputs, `runs` has the refs of all layers; `shapes` has the number of periods and
        of layers in one. Consecutive rows are reshaped, so that nothing is copied; other inputs of a run are those of
        `many`.
        """
        regular = [[self._regular(refs, shape, part) for refs in run] for run, shape in zip(runs, shapes, strict=True)]
        found: dict[tuple[int, int], list[_Rows]] = {}
        for rows in (each for run in regular for each in run if each is not None):
            found.setdefault((id(rows.array), rows.step), []).append(rows)
        blocks: list[Any] = []
        begins: dict[tuple[int, int], tuple[int, int]] = {}
        for (source, step), every in found.items():
            array, length = every[0].array, step * every[0].times
            begin = min(min(rows.first for rows in every), array.shape[0] - length)
            if begin >= 0 and all(rows.first - begin + rows.count <= step for rows in every):
                begins[source, step] = len(blocks), begin
                blocks.append(array[begin : begin + length].reshape(every[0].times, step, *array.shape[1:]))

        def column(refs: Sequence[Ref], rows: _Rows | None, shape: tuple[int, int]) -> Any:
            known = begins.get((id(rows.array), rows.step)) if rows is not None else None
            if rows is None or known is None:
                return self.many(refs, shape, part)
            return Slot(known[0], rows.first - known[1], rows.count)

        read = zip(runs, regular, shapes, strict=True)
        columns = [
            [column(refs, rows, shape) for refs, rows in zip(run, known, strict=True)] for run, known, shape in read
        ]
        return columns, blocks

    def _regular(self, refs: Sequence[Ref], shape: tuple[int, int], part: int) -> _Rows | None:
        if any(ref.row is None or ref.source is not refs[0].source for ref in refs):
            return None
        array, start = self._piece(refs[0], part)
        rows = np.array([ref.row for ref in refs]).reshape(shape) - start
        first, step = int(rows[0, 0]), int(rows[1, 0] - rows[0, 0])
        regular = first + step * np.arange(shape[0])[:, None] + np.arange(shape[1])[None, :]
        return _Rows(array, first, step, shape[1], shape[0]) if step > 0 and np.array_equal(rows, regular) else None

    def stacked(self, refs: Sequence[Ref]) -> Any:
        """Stack the arrays along a leading axis, keeping their kind and sharding."""
        rows = [ref.row for ref in refs]
        if any(row is None or ref.source is not refs[0].source for row, ref in zip(rows, refs, strict=True)):
            return stack_leaves([ref.source if ref.row is None else self.one(ref, 0) for ref in refs])
        whole = refs[0].source
        return whole if rows == list(range(whole.shape[0])) else rows_of(jnp.asarray(whole), np.array(rows))

    def _piece(self, ref: Ref, part: int) -> tuple[Any, int]:
        return self._pieces.get((id(ref.source), part)) or (self._arrays[id(ref.source)], 0)


def rows_of(array: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Return `array[rows]`, as a slice if the rows are regular, which has a cheap transpose."""
    if rows.ndim == 1 and np.array_equal(rows, np.arange(array.shape[0])):
        return array
    flat = rows.ravel()
    first, step = int(flat[0]), int(flat[1] - flat[0]) if len(flat) > 1 else 1
    end = first + step * len(flat)
    if step < 1 or not np.array_equal(flat, np.arange(first, end, step)):
        return array[rows]
    return array[first:end:step].reshape(*rows.shape, *array.shape[1:])
