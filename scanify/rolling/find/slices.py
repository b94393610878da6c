"""Slices of one array, which can be scanned over without slicing the array."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from scanify.rolling.find.program import Atom, Number, Program, is_plain_slice


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices of one array that differ only in their starts along one axis. Dimensions of each may be `squeezed`."""

    value: int
    equation: Any
    axis: int
    starts: tuple[int, ...]
    squeezed: tuple[int, ...] = ()

    @property
    def aval(self) -> Any:
        """The aval of each slice."""
        aval = self.equation.outvars[0].aval
        kept = [size for at, size in enumerate(aval.shape) if at not in self.squeezed]
        return aval.update(shape=tuple(kept)) if self.squeezed else aval

    def of(self, array: Any) -> Any:
        """Return the stacked slices; adjacent ones are not copied individually."""
        rows = self._rows(array)
        return jax.lax.squeeze(rows, [at + 1 for at in self.squeezed]) if self.squeezed else rows

    def _rows(self, array: Any) -> Any:
        params = self.equation.params
        size = params["limit_indices"][self.axis] - params["start_indices"][self.axis]
        low, high = list(params["start_indices"]), list(params["limit_indices"])
        first, count = self.starts[0], len(self.starts)
        step = size if self.starts[1] > first else -size
        if self.starts == tuple(range(first, first + step * count, step)):
            low[self.axis] = min(self.starts)
            high[self.axis] = low[self.axis] + size * count
            whole = (
                array if (*low,) == (0,) * array.ndim and (*high,) == array.shape else jax.lax.slice(array, low, high)
            )
            shape = list(whole.shape)
            shape[self.axis : self.axis + 1] = [count, size]
            rows = jnp.moveaxis(whole.reshape(shape), self.axis, 0)
            return rows if step > 0 else jax.lax.rev(rows, (0,))
        pieces = []
        for start in self.starts:
            low[self.axis], high[self.axis] = start, start + size
            pieces.append(jax.lax.slice(array, low, high))
        return jnp.stack(pieces)


def parts_of(program: Program, atoms: Sequence[Atom]) -> Slices | None:
    """Return the atoms as slices of one array; None if they are anything else."""
    squeezed: set[tuple[int, ...]] = set()
    slices = []
    for atom in atoms:
        view = program.views.get(atom) if isinstance(atom, int) else None
        dimensions: tuple[int, ...] = ()
        if view is not None and view.equation.primitive.name == "squeeze":
            dimensions, value = tuple(view.equation.params["dimensions"]), view.inputs[0]
            view = program.views.get(value) if isinstance(value, int) else None
        if view is None or not is_plain_slice(view.equation):
            return None
        squeezed.add(dimensions)
        slices.append(view)
    first = slices[0]
    value, rank = first.inputs[0], len(first.inputs) - 1
    shape = first.equation.outvars[0].aval
    if not isinstance(value, int) or len(squeezed) > 1:
        return None
    if any(view.inputs[0] != value or view.equation.outvars[0].aval != shape for view in slices):
        return None
    starts = [[start_of(view.inputs[axis + 1]) for view in slices] for axis in range(rank)]
    moved = [axis for axis in range(rank) if len(set(starts[axis])) > 1]
    along = tuple(start for start in starts[moved[0]] if start is not None) if len(moved) == 1 else ()
    if len(along) < len(slices):
        return None
    return Slices(value, first.equation, moved[0], along, *squeezed)


def start_of(atom: Atom) -> int | None:
    """Return the start of a slice, None if it is not constant."""
    return int(atom.value) if isinstance(atom, Number) else None
