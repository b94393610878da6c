"""Connect equal stretches of a program to a loop: values passed to the next stretch, shared values, separate values.

`period` operations repeated `count` times form a scan if each operand of each operation is the same one of three things
in all repetitions: made in the same repetition at the same position, made in the previous repetition at the same
position (carried), or made before the first one (read from outside, either different or equal in each repetition). The
first repetition may read from outside what the others carry.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from scanify.nn.trees.leaves import varying
from scanify.rolling.find.program import Atom, Number, Program

# A result within a repetition: the position of the operation and the index of its output.
Place = tuple[int, int]
# An operand within a repetition: the position of the operation and the index of the operand.
Operand = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Wired:
    """Repetitions that can be one scan.

    `carried` maps operands to the results of the previous repetition that they read. `outside` maps operands that are
    made before the first repetition to the value for each repetition.
    """

    start: int
    period: int
    count: int
    carried: dict[Operand, Place]
    outside: dict[Operand, list[Atom]]

    @property
    def stop(self) -> int:
        """The index after the last operation."""
        return self.start + self.period * self.count


class Wires:
    """The positions at which the values of a program are made and read."""

    def __init__(self, program: Program) -> None:
        self.program = program
        count = len(program.avals)
        self.made = [-1] * count
        self.output = [0] * count
        self.last_use = [-1] * count
        for at, operation in enumerate(program.operations):
            for index, value in enumerate(operation.outputs):
                self.made[value], self.output[value] = at, index
            for atom in operation.inputs:
                if type(atom) is int:
                    self.last_use[atom] = at
        for atom in program.outputs:
            if type(atom) is int:
                self.last_use[atom] = len(program.operations)

    def cuts(self, start: int, stop: int, period: int) -> list[int]:
        """Return the positions at which a repetition may begin, those with the least carried data first.

        They lie in the second period, so that a full period precedes each.
        """
        operations, made = self.program.operations, self.made
        crossing = [0] * (2 * period + 1)
        reach: dict[int, int] = {}
        for use in range(start, min(stop, start + 3 * period)):
            for atom in operations[use].inputs:
                if type(atom) is not int or made[atom] < start or use - made[atom] >= 2 * period:
                    continue
                if self._again(use, period, start, stop, atom):
                    reach[atom] = use
        for value, use in reach.items():
            first, last = max(made[value] + 1, start + period), min(use, start + 2 * period - 1)
            if first <= last:
                size = _bytes(self.program.avals[value]) + 1
                crossing[first - start] += size
                crossing[last - start + 1] -= size
        cost, costs = sum(crossing[:period]), []
        for at in range(period, 2 * period):
            cost += crossing[at]
            costs.append((cost, at + start))
        return [at for _, at in sorted(costs)]

    def _again(self, use: int, period: int, start: int, stop: int, value: int) -> bool:
        """True if the operand one period later or earlier has the same distance to its definition."""
        operations, made = self.program.operations, self.made
        index = operations[use].inputs.index(value)
        for other in (use + period, use - period):
            if start <= other < stop:
                atom = operations[other].inputs[index]
                if type(atom) is int and other - made[atom] == use - made[value]:
                    return True
        return False

    def wired(self, start: int, stop: int, period: int, least: int) -> Iterator[Wired]:
        """Yield the longest loops from `start` on, of at least `least` repetitions."""
        while start + least * period <= stop:
            found = self._longest(start, (stop - start) // period, period)
            if found.count >= least:
                yield found
                start = found.stop
            else:
                start += max(1, found.count - 1) * period

    def _longest(self, start: int, most: int, period: int) -> Wired:
        """Return the longest loop from `start` on."""
        operations = self.program.operations
        operands = [(at, index) for at in range(period) for index in range(len(operations[start + at].inputs))]
        local: list[tuple[int, int, Place]] = []
        open_: list[Operand] = []  # carried or not, as the second repetition decides
        outside: dict[Operand, list[Atom]] = {}
        for operand in operands:
            atom = operations[start + operand[0]].inputs[operand[1]]
            place = self._place(atom, start)
            if place is None:
                outside[operand] = [atom]
                open_.append(operand)
            else:
                local.append((*operand, place))
        carried: dict[Operand, Place] = {}
        count = 1
        while count < most and self._hangs(start, period, count, local, open_, carried, outside):
            count += 1
        for operand in carried:
            del outside[operand][1:]
        for atoms in outside.values():
            del atoms[count:]
        return Wired(start, period, count, carried, outside)

    def _hangs(
        self,
        start: int,
        period: int,
        count: int,
        local: list[tuple[int, int, Place]],
        open_: list[Operand],
        carried: dict[Operand, Place],
        outside: dict[Operand, list[Atom]],
    ) -> bool:
        """True if one more repetition continues the loop; `carried` and `outside` are updated."""
        operations = self.program.operations
        here = start + count * period
        for at, index, place in local:
            if self._place(operations[here + at].inputs[index], here) != place:
                return False
        found: dict[Operand, Place] = {}
        for operand in open_:
            atom = operations[here + operand[0]].inputs[operand[1]]
            place_outside = self._place(atom, start)
            if place_outside is None:
                if operand in carried:
                    return False
                outside[operand].append(atom)
                continue
            place_before = self._place(atom, here - period)
            if place_before is None or place_before[0] >= period or carried.get(operand, place_before) != place_before:
                return False
            if count == 1 and not self._begins(outside[operand][0], atom):
                return False
            if count > 1 and operand not in carried:
                return False
            found[operand] = place_before
        carried.update(found)
        return True

    def _begins(self, first: Atom, carried: Atom) -> bool:
        """True if the initial value can be converted to the type that is carried."""
        if isinstance(first, Number) or isinstance(carried, Number):
            return True
        one, other = self.program.avals[first], self.program.avals[carried]
        if one is other or not hasattr(one, "shape") or not one.shape:
            return True
        same = getattr(one, "sharding", None) == getattr(other, "sharding", None)
        return one.shape == other.shape and same and varying(one) <= varying(other)

    def _place(self, atom: Atom, start: int) -> Place | None:
        """Return where a value is made, relative to `start`; None if it is made before."""
        if isinstance(atom, Number) or self.made[atom] < start:
            return None
        return self.made[atom] - start, self.output[atom]


def _bytes(aval: object) -> int:
    """The size of a value; a value without a size (a token, a mutable array) counts as larger than any other."""
    size, dtype = getattr(aval, "size", None), getattr(aval, "dtype", None)
    if size is None or dtype is None:
        return 1 << 40
    return int(size) * int(getattr(dtype, "itemsize", 8))
