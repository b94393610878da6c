"""Which repetitions of a program become scans: those that together save the most.

What a scan saves is counted in equations that need not be lowered and compiled: its body, but for once. It costs
arrays that are stacked for it and taken apart after it, and a loop. Tiny bodies are therefore left as they are.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from scanify.jaxpr.reading.calls import children, opened
from scanify.rolling.program import Number, Program
from scanify.rolling.repeats import Repetition, repetitions
from scanify.rolling.signature import Signatures
from scanify.rolling.wiring import Place, Wired, Wires

# In equations: what a scan costs by itself, each array that is stacked for it, and each row that it stacks or gives
# back; see docs/benchmarks/reroll.md.
SCAN_COST = 10.0
STACK_COST = 1.0
ROW_COST = 0.3

# Places at which a repetition may begin that are tried.
CUTS = 4

# Rolls that overlap with one and are held against it.
NEIGHBOURS = 16


@dataclass(frozen=True, eq=False)
class Roll:
    """Repetitions that become one scan. `kept`: what is read after the scan, with the repetitions it is read of."""

    wired: Wired
    within: Repetition
    kept: dict[Place, list[int]]
    weight: float
    saved: float


def chosen(program: Program, least: int) -> list[Roll]:
    """The repetitions to roll, in the order of the program, no two of which have an operation in common."""
    if len(program.operations) < least:
        return []
    signatures = np.array(Signatures().of(program), np.int64)
    wires = Wires(program)
    weights = np.concatenate([[0], np.cumsum([weight(each.equation) for each in program.operations])])
    found: list[Roll] = []
    for repetition in repetitions(signatures, least):
        found += _rolls(wires, weights, repetition, least)
    found = [each for each in found if each.saved > 0]
    return best([*found, *_shorter(wires, weights, found, least)])


def _shorter(wires: Wires, weights: Any, rolls: Sequence[Roll], least: int) -> list[Roll]:
    """Where one roll reaches into the next, each of them without what both have."""
    found: list[Roll] = []
    ordered = sorted(rolls, key=lambda roll: (roll.wired.start, roll.wired.stop))
    for at, first in enumerate(ordered):
        one = first.wired
        for second in ordered[at + 1 : at + 1 + NEIGHBOURS]:
            other = second.wired
            if other.start >= one.stop:
                break
            if not one.start < other.start < one.stop < other.stop:
                continue
            found += _rolls(wires, weights, first.within._replace(stop=other.start), least)
            found += _rolls(wires, weights, second.within._replace(start=one.stop), least)
    return [each for each in found if each.saved > 0]


def _rolls(wires: Wires, weights: Any, repetition: Repetition, least: int) -> Iterator[Roll]:
    start, stop, period = repetition
    if stop - start < least * period:
        return
    body = (weights[stop] - weights[start]) * period / (stop - start)
    if (stop - start) / period * body <= SCAN_COST:
        return
    for cut in wires.cuts(start, stop, period)[:CUTS]:
        covered = 0
        for wired in wires.wired(cut - period, stop, period, least):
            covered += wired.count
            yield _roll(wires, weights, wired, repetition)
        if covered >= (stop - start) // period - 1:
            return


def _roll(wires: Wires, weights: Any, wired: Wired, within: Repetition) -> Roll:
    program, kept = wires.program, dict[Place, list[int]]()
    for repetition in range(wired.count):
        start = wired.start + repetition * wired.period
        for at in range(wired.period):
            for index, value in enumerate(program.operations[start + at].outputs):
                if wires.last_use[value] >= wired.stop:
                    kept.setdefault((at, index), []).append(repetition)
    body = float(weights[wired.start + wired.period] - weights[wired.start])
    stacks = {
        tuple(map(_name, atoms))
        for operand, atoms in wired.outside.items()
        if operand not in wired.carried and len({_name(atom) for atom in atoms}) > 1
    }
    arrays = sum(any(isinstance(name, int) for name in names) for names in stacks)
    rows = arrays * wired.count + sum(map(len, kept.values()))
    saved = (wired.count - 1) * body - SCAN_COST - STACK_COST * (arrays + len(kept)) - ROW_COST * rows
    return Roll(wired, within, kept, body, saved)


def _name(atom: int | Number) -> Any:
    return ("number", atom.bits) if isinstance(atom, Number) else atom


def weight(equation: Any) -> float:
    """How many equations an equation stands for, those of the jaxprs inside of it included."""
    return 1.0 + sum(_weight(opened(child)[0]) for child in children(equation))


@lru_cache(maxsize=4096)
def _weight_of(jaxpr: "_ById") -> float:
    return sum(weight(equation) for equation in jaxpr.jaxpr.eqns)


def _weight(jaxpr: Any) -> float:
    return _weight_of(_ById(jaxpr))


class _ById:
    """A jaxpr, which is equal to itself alone."""

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.jaxpr is self.jaxpr

    def __hash__(self) -> int:
        return id(self.jaxpr)


def best(rolls: Sequence[Roll]) -> list[Roll]:
    """Those that save the most together and do not overlap: weighted interval scheduling."""
    stop: Callable[[Roll], int] = lambda roll: roll.wired.stop  # noqa: E731
    ordered = sorted(rolls, key=stop)
    stops = [stop(roll) for roll in ordered]
    totals, taken = [0.0], list[bool]()
    before = []
    for at, roll in enumerate(ordered):
        before.append(bisect.bisect_right(stops, roll.wired.start, hi=at))
        with_it = totals[before[at]] + roll.saved
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
