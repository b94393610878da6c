"""The plan for a program: its repetitions become scans, and so do those in their bodies and in sub-programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from scanify.jaxpr.reading.calls import opened
from scanify.jaxpr.reading.primitives import is_own
from scanify.rolling.find.choose import COUNTED, Costs, Roll, chosen
from scanify.rolling.find.program import Program, flat
from scanify.rolling.scans.body import Body, body_of
from scanify.rolling.scans.calls import Called, called

# Parameters that hold programs which may be rewritten. Functions with custom derivatives are excluded, since their
# rules refer to the original program.
HOLD = {
    "jit": ("jaxpr",),
    "pjit": ("jaxpr",),
    "closed_call": ("call_jaxpr",),
    "checkpoint": ("jaxpr",),
    "remat": ("jaxpr",),
    "remat2": ("jaxpr",),
    "scan": ("jaxpr",),
    "while": ("body_jaxpr", "cond_jaxpr"),
    "cond": ("branches",),
}


@dataclass(frozen=True, eq=False)
class Scan:
    """A roll, with the plan of its body."""

    roll: Roll
    body: Body
    inside: Plan

    def rows(self, program: Program) -> Iterator[int]:
        """Yield the values that the scan returns stacked."""
        wired = self.roll.wired
        for at, index in self.body.kept:
            for repetition in self.roll.kept[at, index]:
                yield program.operations[wired.start + repetition * wired.period + at].outputs[index]


@dataclass(eq=False)
class Plan:
    """A program with its scans by first operation, and the plans of sub-programs by operation and parameter.

    `left` holds repetitions whose scans would save no time, `calls` the restored calls by first operation.
    """

    program: Program
    scans: dict[int, Scan] = field(default_factory=dict)
    left: list[Roll] = field(default_factory=list)
    inside: dict[int, dict[str, list[Plan | None]]] = field(default_factory=dict)
    calls: dict[int, Called] = field(default_factory=dict)

    @property
    def rolls(self) -> bool:
        """True if anything is rolled."""
        return bool(self.scans or self.inside)

    def all_scans(self, around: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Program, Scan]]:
        """Yield every scan in program order, with its program and the names of enclosing operations."""
        for at in sorted((*self.scans, *self.inside)):
            if at in self.scans:
                scan = self.scans[at]
                yield around, self.program, scan
                yield from scan.inside.all_scans((*around, f"scan of {scan.roll.wired.count}"))
                continue
            name = self.program.operations[at].equation.primitive.name
            for plans in self.inside[at].values():
                for plan in plans:
                    yield from plan.all_scans((*around, name)) if plan is not None else ()


def planned(program: Program, least: int, costs: Costs = COUNTED) -> Plan:
    """Plan a program; `least` is the least number of repetitions in a scan, `costs` what it must save."""
    plan = Plan(program)
    taken, plan.left = chosen(program, least, costs)
    for roll in taken:
        body = body_of(program, roll)
        plan.scans[roll.wired.start] = Scan(roll, body, planned(body.program, least, costs))
    known: dict[int, Plan | None] = {}
    at = 0
    while at < len(program.operations):
        if at in plan.scans:
            at = plan.scans[at].roll.wired.stop
            continue
        inside = _inside(program.operations[at].equation, least, costs, known)
        if inside:
            plan.inside[at] = inside
        at += 1
    stretches = [(roll.wired.start, roll.wired.stop) for roll in taken]
    plan.calls = called(program, stretches, {value for scan in plan.scans.values() for value in scan.rows(program)})
    return plan


def _inside(equation: Any, least: int, costs: Costs, known: dict[int, Plan | None]) -> dict[str, list[Plan | None]]:
    """Return the plans of an equation's sub-programs; empty if nothing in them is rolled."""
    names = HOLD.get(equation.primitive.name, ()) if is_own(equation.primitive) else ()
    found = {}
    for name in names:
        if name in equation.params:
            value = equation.params[name]
            found[name] = [
                _sub(each, least, costs, known) for each in (value if isinstance(value, tuple) else (value,))
            ]
    return found if any(plan is not None for plans in found.values() for plan in plans) else {}


def _sub(jaxpr: Any, least: int, costs: Costs, known: dict[int, Plan | None]) -> Plan | None:
    if id(jaxpr) not in known:
        plan = planned(flat(opened(jaxpr)[0]), least, costs)
        known[id(jaxpr)] = plan if plan.rolls else None
    return known[id(jaxpr)]
