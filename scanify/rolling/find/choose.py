"""Choose the repetitions that become scans, maximising the total savings.

Savings are counted in equations that need not be lowered and compiled: all repetitions of the body but one. The costs
are a loop, and arrays that are stacked for it and unstacked after it. So small bodies are not rolled; how small depends
on the compiler.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from scanify.jaxpr.reading.calls import children, opened
from scanify.rolling.find.program import Number, Program, is_view
from scanify.rolling.find.repeats import Repetition, repetitions
from scanify.rolling.find.signature import Signatures
from scanify.rolling.find.slices import parts_of
from scanify.rolling.find.wiring import Place, Wired, Wires


@dataclass(frozen=True)
class Costs:
    """Costs in equations: of a scan, a stacked array, a row of such an array, and an equation for random numbers."""

    scan: float = 10.0
    array: float = 1.0
    row: float = 0.3
    random: float = 1.0


# Counts only equations: those that are traced, lowered and passed to the compiler.
COUNTED = Costs()
# XLA on a CPU, fitted to gradients of the models in docs/benchmarks/reroll.md: about 1.6 ms per equation, a second for
# the two loops of a scan, and 10 ms for each slice that extracts the gradient of a layer's array from the stack.
ON_CPU = Costs(scan=600.0, row=6.0, random=100.0)

# The number of start positions tried for a repetition.
CUTS = 4

# The number of overlapping rolls that one is compared with.
NEIGHBOURS = 16


@dataclass(frozen=True, eq=False)
class Roll:
    """Repetitions that become one scan.

    `kept` maps results read after the scan to the repetitions they are read from. `saved` is the savings of the scan in
    equations, and `counted` the savings if only equations count.
    """

    wired: Wired
    within: Repetition
    kept: dict[Place, list[int]]
    saved: float
    counted: float


def chosen(program: Program, least: int, costs: Costs = COUNTED) -> tuple[list[Roll], list[Roll]]:
    """Return the repetitions to roll, disjoint and in program order, and those not rolled.

    The latter would save equations but no time.
    """
    if len(program.operations) < least:
        return [], []
    signatures = np.array(Signatures().of(program), np.int64)
    counts = _sums(program, signatures, COUNTED)
    weights = counts if costs.random == COUNTED.random else _sums(program, signatures, costs)
    search = _Search(Wires(program), weights, counts, least, costs)
    found = [each for each in search.all_rolls(repetitions(signatures, least)) if each.counted > 0]
    found += search.shorter(found)
    taken = best([each for each in found if each.saved > 0])
    busy = [(each.wired.start, each.wired.stop) for each in taken]
    free = [
        each
        for each in found
        if each.saved <= 0 and all(each.wired.stop <= start or stop <= each.wired.start for start, stop in busy)
    ]
    return taken, best(free, lambda roll: roll.counted)


def _sums(program: Program, signatures: Any, costs: Costs) -> Any:
    """Return the cumulative weights of the operations; equal ones weigh the same, and parts of arrays nothing."""
    _, first, which = np.unique(signatures, return_index=True, return_inverse=True)
    equations = [program.operations[at].equation for at in first]
    weights = np.array([0.0 if is_view(each) else weight(each, costs.random) for each in equations])
    return np.concatenate([[0], np.cumsum(weights[which])])


@dataclass(frozen=True, eq=False)
class _Search:
    wires: Wires
    weights: Any
    counts: Any
    least: int
    costs: Costs

    def all_rolls(self, repetitions: Sequence[Repetition]) -> list[Roll]:
        """Return the possible rolls of the repetitions, those with the largest savings first.

        Repetitions inside of a roll are skipped if together they could not save as much as the roll.
        """
        if not repetitions:
            return []
        found: list[list[Roll]] = [[] for _ in repetitions]
        starts, stops, periods = np.array(repetitions).T
        order = np.lexsort((stops, starts))
        starts, stops, periods = starts[order], stops[order], periods[order]
        bodies = self.weights[starts + periods] - self.weights[starts]
        most = np.maximum(((stops - starts) // periods - 1) * bodies - self.costs.scan, 0.0)
        together = np.concatenate([[0.0], np.cumsum(most)])
        settled = np.zeros(len(order), bool)
        for at in np.argsort(-most, kind="stable"):
            if settled[at]:
                continue
            found[order[at]] = list(self.rolls(repetitions[order[at]]))
            for roll in found[order[at]]:
                first, last = np.searchsorted(starts, (roll.wired.start, roll.wired.stop))
                own = most[at] if first <= at < last else 0.0
                if together[last] - together[first] - own <= roll.saved:
                    settled[first:last] |= stops[first:last] <= roll.wired.stop
        return [roll for rolls in found for roll in rolls]

    def rolls(self, repetition: Repetition) -> Iterator[Roll]:
        """Yield the rolls of a repetition, starting where the least data is carried."""
        start, stop, period = repetition
        if stop - start < self.least * period:
            return
        body = (self.counts[stop] - self.counts[start]) * period / (stop - start)
        if (stop - start) / period * body <= COUNTED.scan:
            return
        for cut in self.wires.cuts(start, stop, period)[:CUTS]:
            covered = 0
            for wired in self.wires.wired(cut - period, stop, period, self.least):
                covered += wired.count
                yield self._roll(wired, repetition)
            if covered >= (stop - start) // period - 1:
                return

    def shorter(self, rolls: Sequence[Roll]) -> list[Roll]:
        """Return, for each pair of overlapping rolls, both without the shared part."""
        found: list[Roll] = []
        ordered = sorted(rolls, key=lambda roll: (roll.wired.start, roll.wired.stop))
        for at, first in enumerate(ordered):
            one = first.wired
            for second in ordered[at + 1 : at + 1 + NEIGHBOURS]:
                other = second.wired
                if other.start >= one.stop:
                    break
                if one.start < other.start < one.stop < other.stop:
                    found += self.rolls(first.within._replace(stop=other.start))
                    found += self.rolls(second.within._replace(start=one.stop))
        return [each for each in found if each.counted > 0]

    def _roll(self, wired: Wired, within: Repetition) -> Roll:
        program, kept = self.wires.program, dict[Place, list[int]]()
        for repetition in range(wired.count):
            start = wired.start + repetition * wired.period
            for at in range(wired.period):
                for index, value in enumerate(program.operations[start + at].outputs):
                    if self.wires.last_use[value] >= wired.stop:
                        kept.setdefault((at, index), []).append(repetition)
        stacks = {
            tuple(map(_name, atoms)): atoms
            for operand, atoms in wired.outside.items()
            if operand not in wired.carried and len({_name(atom) for atom in atoms}) > 1
        }
        arrays = sum(
            any(isinstance(atom, int) for atom in atoms) and parts_of(program, atoms) is None
            for atoms in stacks.values()
        )
        rows = arrays * wired.count + sum(map(len, kept.values()))

        def saved(costs: Costs, sums: Any) -> float:
            body = float(sums[wired.start + wired.period] - sums[wired.start])
            return (wired.count - 1) * body - costs.scan - costs.array * (arrays + len(kept)) - costs.row * rows

        return Roll(wired, within, kept, saved(self.costs, self.weights), saved(COUNTED, self.counts))


def _name(atom: int | Number) -> Any:
    return ("number", atom.bits) if isinstance(atom, Number) else atom


def weight(equation: Any, random: float = 1.0) -> float:
    """Count an equation and the equations of its inner jaxprs; random numbers count as `random`."""
    own = random if equation.primitive.name.startswith(("random_", "threefry")) else 1.0
    return own + sum(_weight_of(_ById(opened(child)[0]), random) for child in children(equation))


@lru_cache(maxsize=4096)
def _weight_of(jaxpr: "_ById", random: float) -> float:
    return sum(weight(equation, random) for equation in jaxpr.jaxpr.eqns)


class _ById:
    """Wraps a jaxpr; equal only to a wrapper of the same one."""

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.jaxpr is self.jaxpr

    def __hash__(self) -> int:
        return id(self.jaxpr)


def _saved(roll: Roll) -> float:
    return roll.saved


def best(rolls: Sequence[Roll], saved: Callable[[Roll], float] = _saved) -> list[Roll]:
    """Choose disjoint rolls with the largest total savings: weighted interval scheduling."""
    ordered = sorted(rolls, key=lambda roll: roll.wired.stop)
    stops = [roll.wired.stop for roll in ordered]
    totals, taken = [0.0], list[bool]()
    before = []
    for at, roll in enumerate(ordered):
        before.append(bisect.bisect_right(stops, roll.wired.start, hi=at))
        with_it = totals[before[at]] + saved(roll)
        taken.append(with_it > totals[at])
        totals.append(max(with_it, totals[at]))
    found, at = [], len(ordered)
    while at:
        if taken[at - 1]:
            found.append(ordered[at - 1])
            at = before[at - 1]
        else:
            at -= 1
    return found[::-1]
