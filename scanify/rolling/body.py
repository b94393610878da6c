"""The body of a scan over repetitions, and what it scans over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.rolling.bind import array_of, bind, spread, strong
from scanify.rolling.choose import Roll
from scanify.rolling.program import Atom, Number, is_plain_slice
from scanify.rolling.wiring import Operand, Place

if TYPE_CHECKING:
    from scanify.rolling.emit import Emitted


@dataclass(frozen=True, eq=False)
class Row:
    """A value that is a row of what a scan gave: it is taken out where it is read."""

    rows: Any
    at: int


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices of one array that differ in where they start along one axis."""

    value: int
    equation: Any
    axis: int
    starts: tuple[int, ...]

    def of(self, array: Any) -> Any:
        """The slices, stacked; without a copy of each where they lie side by side."""
        params = self.equation.params
        size = params["limit_indices"][self.axis] - params["start_indices"][self.axis]
        low, high = list(params["start_indices"]), list(params["limit_indices"])
        first, count = self.starts[0], len(self.starts)
        if self.starts == tuple(range(first, first + size * count, size)):
            low[self.axis], high[self.axis] = first, first + size * count
            whole = jax.lax.slice(array, low, high)
            shape = list(whole.shape)
            shape[self.axis : self.axis + 1] = [count, size]
            return jnp.moveaxis(whole.reshape(shape), self.axis, 0)
        pieces = []
        for start in self.starts:
            low[self.axis], high[self.axis] = start, start + size
            pieces.append(jax.lax.slice(array, low, high))
        return jnp.stack(pieces)


class Body:
    """The body of a scan over repetitions: what it carries, what it scans over, what it gives.

    Its operations are those of the second repetition: the first may begin with numbers where the others have arrays.
    """

    def __init__(self, run: Emitted, roll: Roll) -> None:
        self.run, self.roll, self.wired = run, roll, roll.wired
        first = self.wired.start + self.wired.period
        self.operations = run.program.operations[first : first + self.wired.period]
        self.slots: list[tuple[Place, Atom | None]] = []
        self.columns: list[list[Atom] | Slices] = []
        self._slot_of: dict[Operand, int] = {}
        self._column_of: dict[Operand, int] = {}
        self._given: dict[int, int] = {}  # operations whose result is scanned over, with the column
        for operand, place in self.wired.carried.items():
            self._slot_of[operand] = self._slot(place, self.wired.outside[operand][0])
        self._lift()
        last = self.wired.count - 1
        self._last = {
            place: self._final(place) for place, kept in roll.kept.items() if kept == [last] and self._is_plain(place)
        }
        self._ys = [place for place in roll.kept if place not in self._last]

    def _slot(self, place: Place, first: Atom | None) -> int:
        """What is carried: the result at a place, from the first value on."""
        for at, (known, other) in enumerate(self.slots):
            if known == place and _same(first, other):
                return at
        self.slots.append((place, first))
        return len(self.slots) - 1

    def _final(self, place: Place) -> int:
        """Where the last value of a place is carried to, which nothing reads before the end."""
        for at, (known, _) in enumerate(self.slots):
            if known == place:
                return at
        return self._slot(place, None)

    def _is_plain(self, place: Place) -> bool:
        return isinstance(getattr(self._aval(place), "dtype", None), np.dtype)

    def _aval(self, place: Place) -> Any:
        return self.run.program.avals[self.operations[place[0]].outputs[place[1]]]

    def _lift(self) -> None:
        """Find what differs from one repetition to the next."""
        known: dict[Any, int] = {}
        for operand, atoms in self.wired.outside.items():
            if operand in self._slot_of:
                continue
            if all(_same(atoms[0], atom) for atom in atoms):
                self.run.read(atoms[0])  # now: what is taken out inside of the scan stays there
                continue
            at = operand[0]
            if is_plain_slice(self.operations[at].equation) and self._slices(at):
                continue
            names = tuple(("number", atom.bits) if isinstance(atom, Number) else atom for atom in atoms)
            if names not in known:
                known[names] = len(self.columns)
                self.columns.append(atoms)
            self._column_of[operand] = known[names]

    def _slices(self, at: int) -> bool:
        """Scan over slices of an array from outside instead of slicing it in the body."""
        if at in self._given:
            return True
        atoms = self.wired.outside.get((at, 0), [])
        if (at, 0) in self._slot_of or not atoms or any(not _same(atoms[0], atom) for atom in atoms):
            return False
        value, rank = atoms[0], len(self.operations[at].inputs) - 1
        starts = [[_start(atom) for atom in self.wired.outside[at, axis + 1]] for axis in range(rank)]
        moved = [axis for axis in range(rank) if len(set(starts[axis])) > 1]
        if len(moved) != 1 or isinstance(value, Number):
            return False
        self._given[at] = len(self.columns)
        self.columns.append(Slices(value, self.operations[at].equation, moved[0], tuple(starts[moved[0]])))
        return True

    def first(self, slot: tuple[Place, Atom | None]) -> Any:
        """What is carried into the first repetition."""
        place, atom = slot
        aval = self._aval(place)
        if atom is None:
            return jnp.zeros(aval.shape, aval.dtype)
        return strong(spread(array_of(self.run.read(atom)), aval.shape))

    def __call__(self, carry: Sequence[Any], xs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """One repetition."""
        values: dict[int, Any] = {}

        def read(at: int, index: int, atom: Atom) -> Any:
            if (at, index) in self._slot_of:
                return carry[self._slot_of[at, index]]
            if (at, index) in self._column_of:
                return xs[self._column_of[at, index]]
            return values[atom] if atom in values else self.run.read(atom)

        for at, operation in enumerate(self.operations):
            if at in self._given:
                values[operation.outputs[0]] = xs[self._given[at]]
                continue
            operands = [read(at, index, atom) for index, atom in enumerate(operation.inputs)]
            values.update(zip(operation.outputs, bind(operation.equation, operands), strict=True))

        def result(place: Place) -> Any:
            return strong(values[self.operations[place[0]].outputs[place[1]]])

        return [result(place) for place, _ in self.slots], [result(place) for place in self._ys]

    def give(self, carry: Sequence[Any], ys: Sequence[Any]) -> None:
        """Hand what is read after the scan to the program."""
        operations, wired = self.run.program.operations, self.wired

        def value(place: Place, repetition: int) -> int:
            return operations[wired.start + repetition * wired.period + place[0]].outputs[place[1]]

        for place, slot in self._last.items():
            self.run.values[value(place, wired.count - 1)] = carry[slot]
        for place, rows in zip(self._ys, ys, strict=True):
            self.run.stacked[tuple(value(place, each) for each in range(wired.count))] = rows
            for repetition in self.roll.kept[place]:
                self.run.values[value(place, repetition)] = Row(rows, repetition)


def _same(one: Atom | None, other: Atom | None) -> bool:
    if isinstance(one, Number) and isinstance(other, Number):
        return one is other or (one.aval.dtype == other.aval.dtype and one.bits == other.bits)
    return one is other or (type(one) is int and one == other)


def _start(atom: Atom) -> int:
    assert isinstance(atom, Number)
    return int(atom.value)
