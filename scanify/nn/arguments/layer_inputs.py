"""The arrays that each layer of a sequence reads, and how those of many layers become one array to scan over."""

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
    """One layer's array: entry `row` of `source`, or `source` itself where there is no row."""

    source: Any
    row: int | None = None

    def struct(self) -> jax.ShapeDtypeStruct:
        """Its shape and dtype, without taking it."""
        return struct(self.source) if self.row is None else row_struct(self.source)

    @property
    def weak_type(self) -> bool:
        """Whether its type is weak, as that of its struct."""
        return bool(getattr(self.source, "weak_type", False))


def entries_of(stacked: Any, count: int) -> list[Any]:
    """A pytree of arrays with layers along axis 0, layer by layer, with a `Ref` for each array."""
    return [jax.tree.map(lambda array, row=row: Ref(array, row), stacked) for row in range(count)]


@dataclass(frozen=True, eq=False)
class Shared:
    """An array that all layers of a scan read: it is not scanned over, and its gradients add up."""

    array: Any


class Inputs:
    """Gives arrays to the parts of a program, each of which reads the refs of some layers.

    A source whose entries go to the parts in order is taken apart by one `lax.split`, whose transpose is one
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
        """The array of a single layer."""
        if ref.row is None:
            return jnp.asarray(ref.source)
        array, start = self._piece(ref, part)
        return array[ref.row - start]

    def many(self, refs: Sequence[Ref], shape: tuple[int, ...], part: int) -> Any:
        """The arrays of many layers with leading axes `shape`, or one `Shared`."""
        if all(ref.source is refs[0].source and ref.row == refs[0].row for ref in refs):
            return Shared(self.one(refs[0], part))
        if any(ref.row is None or ref.source is not refs[0].source for ref in refs):
            stacked = jnp.stack([self.one(ref, part) for ref in refs])
            return stacked.reshape(*shape, *stacked.shape[1:])
        array, start = self._piece(refs[0], part)
        rows = np.array([ref.row for ref in refs]).reshape(shape) - start
        return rows_of(array, rows)

    def stacked(self, refs: Sequence[Ref]) -> Any:
        """The arrays with one leading axis, in the form and the sharding that they have."""
        rows = [ref.row for ref in refs]
        if any(row is None or ref.source is not refs[0].source for row, ref in zip(rows, refs, strict=True)):
            return stack_leaves([ref.source if ref.row is None else self.one(ref, 0) for ref in refs])
        whole = refs[0].source
        return whole if rows == list(range(whole.shape[0])) else rows_of(jnp.asarray(whole), np.array(rows))

    def _piece(self, ref: Ref, part: int) -> tuple[Any, int]:
        return self._pieces.get((id(ref.source), part)) or (self._arrays[id(ref.source)], 0)


def rows_of(array: Any, rows: np.ndarray[Any, Any]) -> Any:
    """`array[rows]`, as slices and reshapes where the rows are regular: those have cheap transposes."""
    if rows.ndim == 1 and np.array_equal(rows, np.arange(array.shape[0])):
        return array
    first = int(rows.flat[0])
    inner = rows.shape[1] if rows.ndim == 2 else 1
    grid = rows.reshape(rows.shape[0], inner)
    step = int(grid[1, 0] - first) if len(grid) > 1 else inner
    regular = first + step * np.arange(len(grid))[:, None] + np.arange(inner)[None, :]
    if step < inner or not np.array_equal(grid, regular):
        return array[rows]
    tail = array.shape[1:]
    if step == inner:
        return array[first : first + rows.size].reshape(*rows.shape, *tail)
    # Whole periods are cut at their start, so that the last one need not be complete.
    begin = min(first, array.shape[0] - step * len(grid))
    if begin < 0 or first - begin + inner > step:
        return array[rows]
    periods = array[begin : begin + step * len(grid)].reshape(len(grid), step, *tail)
    taken = periods[:, first - begin : first - begin + inner]
    return taken.reshape(*rows.shape, *tail)
