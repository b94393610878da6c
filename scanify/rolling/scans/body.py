"""The body of a scan over repetitions as a separate program, and the values it scans over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn.trees.leaves import varying
from scanify.rolling.find.choose import Roll
from scanify.rolling.find.program import Atom, Number, Operation, Program, is_plain_slice
from scanify.rolling.find.slices import Slices, parts_of, start_of
from scanify.rolling.find.wiring import Operand, Place
from scanify.rolling.scans.bind import array_of, spread, strong, zeros
from scanify.rolling.scans.calls import whole_calls

Read = Callable[[Atom], Any]


@dataclass(frozen=True, eq=False)
class Slot:
    """A carried value: the result at a place. `first` is its initial value, None if nothing reads that."""

    place: Place
    first: Atom | None
    aval: Any

    def init(self, read: Read) -> Any:
        """The initial value of the carry."""
        if self.first is None:
            return zeros(self.aval)
        return strong(spread(array_of(read(self.first)), self.aval))


@dataclass(eq=False)
class Body:
    """One repetition as a program with three kinds of inputs: carried, scanned over, and shared.

    `carried` maps results whose last value is read after the scan to their slots, `kept` lists the results to stack.
    """

    slots: list[Slot] = field(default_factory=list)
    columns: list[list[Atom] | Slices] = field(default_factory=list)
    constants: list[Atom] = field(default_factory=list)
    carried: dict[Place, int] = field(default_factory=dict)
    kept: list[Place] = field(default_factory=list)
    program: Program = field(default_factory=Program)


def body_of(program: Program, roll: Roll) -> Body:
    """Return the body of a roll, made from the second repetition.

    The first one may begin with constants where the others have arrays.
    """
    return _Maker(program, roll).body


class _Maker:
    def __init__(self, program: Program, roll: Roll) -> None:
        self.whole, self.roll, self.wired, self.body = program, roll, roll.wired, Body()
        first = self.wired.start + self.wired.period
        self.operations = program.operations[first : first + self.wired.period]
        self._given: dict[int, int] = {}  # operations whose result is scanned over, with the column
        self._columns: dict[Any, int] = {}
        slot_of = {
            operand: self._slot(place, self.wired.outside[operand][0]) for operand, place in self.wired.carried.items()
        }
        column_of = self._differing()
        for place, repetitions in roll.kept.items():
            self._keep(place, set(repetitions))
        self._fill(slot_of, column_of)

    def _aval(self, place: Place) -> Any:
        return self.whole.avals[self.operations[place[0]].outputs[place[1]]]

    def _slot(self, place: Place, first: Atom | None) -> int:
        slots = self.body.slots
        for at, slot in enumerate(slots):
            if slot.place == place and same(first, slot.first):
                return at
        slots.append(Slot(place, first, self._aval(place)))
        return len(slots) - 1

    def _keep(self, place: Place, repetitions: set[int]) -> None:
        """Register a result read after the scan: carry it if only the last value is read, otherwise stack it."""
        last = self.wired.count - 1
        known = [at for at, slot in enumerate(self.body.slots) if slot.place == place]
        is_array = isinstance(getattr(self._aval(place), "dtype", None), np.dtype)
        if known and last in repetitions:
            self.body.carried[place] = known[0]
        elif repetitions == {last} and is_array:
            self.body.carried[place] = self._slot(place, None)  # nothing reads it before the end
        if repetitions != {last} or place not in self.body.carried:
            self.body.kept.append(place)

    def _differing(self) -> dict[Operand, int]:
        """Return the columns of operands that differ between repetitions."""
        found: dict[Operand, int] = {}
        for operand, atoms in self.wired.outside.items():
            if operand in self.wired.carried or all(same(atoms[0], atom) for atom in atoms):
                continue
            if is_plain_slice(self.operations[operand[0]].equation) and self._sliced_outside(operand[0]):
                continue
            names = tuple(("number", atom.bits) if isinstance(atom, Number) else atom for atom in atoms)
            found[operand] = self._column(names, parts_of(self.whole, atoms) or atoms)
        return found

    def _column(self, name: Any, column: list[Atom] | Slices) -> int:
        if name not in self._columns:
            self._columns[name] = len(self.body.columns)
            self.body.columns.append(column)
        return self._columns[name]

    def _sliced_outside(self, at: int) -> bool:
        """Scan over slices of an array from outside instead of slicing it in the body."""
        if at in self._given:
            return True
        atoms = self.wired.outside.get((at, 0), [])
        if (at, 0) in self.wired.carried or not atoms or any(not same(atoms[0], atom) for atom in atoms):
            return False
        operation = self.operations[at]
        value, rank = atoms[0], len(operation.inputs) - 1
        starts = [[start_of(atom) for atom in self.wired.outside[at, axis + 1]] for axis in range(rank)]
        moved = [axis for axis in range(rank) if len(set(starts[axis])) > 1]
        if len(moved) != 1 or isinstance(value, Number) or None in starts[moved[0]]:
            return False
        along = tuple(start for start in starts[moved[0]] if start is not None)
        slices = Slices(value, operation.equation, moved[0], along)
        params = operation.equation.params
        self._given[at] = self._column(("slices", value, str(params), moved[0], along), slices)
        return True

    def _fill(self, slot_of: dict[Operand, int], column_of: dict[Operand, int]) -> None:
        body, made = self.body, self.body.program
        inputs = [made.value(slot.aval) for slot in body.slots]
        scanned = []
        for column in body.columns:
            aval = _aval_of(self.whole, column)
            scanned.append(made.value(aval))
        shared: dict[int, int] = {}
        values: dict[int, int] = {}

        def atom(operand: Operand, atom: Atom) -> Atom:
            if operand in slot_of:
                return inputs[slot_of[operand]]
            if operand in column_of:
                return scanned[column_of[operand]]
            if isinstance(atom, Number):
                return atom
            if atom in values:
                return values[atom]
            if atom not in shared:
                shared[atom] = made.value(self.whole.avals[atom])
            return shared[atom]

        calls = whole_calls(self.whole, self.operations)
        for at, operation in enumerate(self.operations):
            if at in self._given:
                values[operation.outputs[0]] = scanned[self._given[at]]
                continue
            operands = tuple(atom((at, index), each) for index, each in enumerate(operation.inputs))
            outputs = tuple(made.value(self.whole.avals[value]) for value in operation.outputs)
            call = None if operation.call is None else calls.get(operation.call)
            made.operations.append(Operation(operation.equation, operands, outputs, operation.inside, call))
            values.update(zip(operation.outputs, outputs, strict=True))
        places = [slot.place for slot in body.slots] + body.kept
        made.outputs = [values[self.operations[at].outputs[index]] for at, index in places]
        body.constants = list(shared)
        made.inputs = [*inputs, *scanned, *shared.values()]


def _aval_of(program: Program, column: list[Atom] | Slices) -> Any:
    """The aval of a column inside the body."""
    if isinstance(column, Slices):
        return column.aval
    avals = [atom.aval if isinstance(atom, Number) else program.avals[atom] for atom in column]
    return max(avals, key=lambda aval: len(aval.shape))


def same(one: Atom | None, other: Atom | None) -> bool:
    """True if two operands are the same value or equal constants."""
    if isinstance(one, Number) and isinstance(other, Number):
        return one is other or one.bits == other.bits
    return one is other or (type(one) is int and one == other)


def stack(column: Sequence[Any]) -> Any:
    """Stack arrays and constants as rows of one array."""
    arrays = [array_of(each) for each in column]
    largest = jax.typeof(max(arrays, key=lambda array: (array.ndim, len(varying(jax.typeof(array))))))
    return jnp.stack([strong(spread(array, largest)) for array in arrays])
