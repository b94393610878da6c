"""The savings of rolling a case's program, per loop: run by `scanify reroll --report` in a child process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.calls import opened
from scanify.rolling.explain import Files, line
from scanify.rolling.find.choose import ON_CPU, Roll, chosen, weight
from scanify.rolling.find.program import Program, flat
from scanify.rolling.scans.plan import planned
from scanify.verify.cases.build import Case, build
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import under, version
from scanify.verify.values.arrays import struct
from scanify.verify.verdict import CaseResult

# The least number of repetitions in a scan.
_LEAST = 3


def reported_case(name: str, before: Case, after: Case, *, files: Files, **unused: Any) -> CaseResult:
    """Return the repeated equations of the first version's call as notes. This comparer compares nothing."""
    try:
        built = build(before, abstract=True)
    except ScanifyError:
        raise
    except Exception:  # a constructor that cannot be traced
        built = build(before, abstract=False)
    program = version(built)
    with under(None, program):
        closed = jax.make_jaxpr(lambda leaves: flat_outputs(program.call(leaves))[0])(
            [struct(leaf) for leaf in built.arrays]
        )
    return CaseResult(name, notes=tuple(report(opened(closed)[0], files)))


def report(jaxpr: Any, files: Files) -> list[str]:
    """Return a line for each loop, sorted by the equations that its scan would save tracing, lowering and compiling."""
    program = flat(jaxpr)
    whole = sum(weight(operation.equation) for operation in program.operations)
    found = [(around, where, scan.roll) for around, where, scan in planned(program, _LEAST).all_scans()]
    if not found:
        return [f"{whole:,.0f} equations, of which none repeat so that a scan would save some"]
    rows = sorted(
        ((_saves(roll, where), around, where, roll) for around, where, roll in found), key=lambda row: -row[0]
    )
    lines = [f"{whole:,.0f} equations"]
    for saved, around, where, roll in rows:
        inside = f", inside of {', '.join(around)}" if around else ""
        lines.append(
            f"{_place(where, roll, files)}: {roll.wired.count} x {roll.wired.period} equations{inside}: "
            f"a scan saves {saved:,.0f} ({saved / whole:.0%}){_on_cpu(where, roll)}"
        )
    return lines


def _saves(roll: Roll, program: Program) -> float:
    wired = roll.wired
    return sum(weight(each.equation) for each in program.operations[wired.start + wired.period : wired.stop])


def _on_cpu(program: Program, roll: Roll) -> str:
    rolled, _ = chosen(program, _LEAST, ON_CPU)
    is_rolled = any(each.wired.start < roll.wired.stop and roll.wired.start < each.wired.stop for each in rolled)
    return "" if is_rolled else "; on a CPU too little for what stacks cost"


def _place(program: Program, roll: Roll, files: Callable[[str], str | None]) -> str:
    wired = roll.wired
    operations: Sequence[Any] = program.operations[wired.start + wired.period : wired.start + 2 * wired.period]
    place = line(operations, files)
    return "code of libraries" if place is None else f"{place[0]}:{place[1]}"
