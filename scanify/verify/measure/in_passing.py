"""Time a case against its loop during verification: decoding is cheap to compile, and a scan may slow it down.

A scan takes each layer's parameters out of their stack, and copies caches from a list into one and back. Whether that
matters cannot be seen in the program: it depends on the numbers of layers, tokens and processors (decoders of 8 layers
on a CPU took 0.7 to 1.8 times as long as their loops, without a pattern). So it is timed, if that is cheap.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from scanify.jaxpr.reading.calls import children
from scanify.verify.compare.judge import Subject
from scanify.verify.measure.measure import Compiled, Executables, compiled_call, step_seconds
from scanify.verify.measure.pace import SLOWER, Pace
from scanify.verify.measure.work import work
from scanify.verify.programs.programs import call_digest
from scanify.verify.programs.trace import Policy, Traced
from scanify.verify.verdict import Verdict

# A loop of more equations takes longer than about two seconds to compile.
_EQUATIONS = 1_000
_BYTES = 256 << 20
_SECONDS, _AGAIN = 0.3, 1.0
_WRITTEN: Policy = None


def in_passing(subject: Subject, written: Traced | Verdict, executables: Executables, paced: str) -> Pace | None:
    """Time the case against its loop: calls that decode always, other ones only if `paced` is "all".

    A call that decodes is timed alone, any other with its gradient. None if there is nothing to time: another kind of
    case, the same program, or one with effects.
    """
    if isinstance(written, Verdict) or subject.original.forward.effects or written.forward.effects:
        return None
    if call_digest(subject.original) == call_digest(written):
        return None
    decodes = _decodes(subject)
    if not decodes and paced != "all":
        return None
    what = "call" if decodes or subject.original.gradient is None or written.gradient is None else "step"
    program = subject.original.forward if what == "call" else subject.original.gradient
    why = _too_much(subject, program)
    if why:
        return Pace(what, untimed=why)
    with subject.steps.step("time"):
        try:
            both = _compiled(subject, written, executables, what)
            loop, scan = step_seconds(both, subject.both.leaves, _SECONDS)
            if scan > (1 + SLOWER) * loop:  # a busy machine may be the reason, so it is measured again
                loop, scan = step_seconds(both, subject.both.leaves, _AGAIN)
        except Exception as error:  # a failed timing must not fail the case
            return Pace(what, untimed=f"it raised {subject.said(error)} when it ran")
    return Pace(what, loop, scan, None if what == "call" else _operations(subject.original, written))


def _compiled(subject: Subject, written: Traced, executables: Executables, what: str) -> list[Compiled]:
    both = subject.both
    if what == "call":
        return [compiled_call(version, _WRITTEN, both.avals) for version in (both.before, both.after)]
    return [
        executables.of(version, both.avals, traced, _WRITTEN)
        for version, traced in ((both.before, subject.original), (both.after, written))
    ]


def _decodes(subject: Subject) -> bool:
    """True if a call returns more than one of its input arrays, such as caches, or has no gradient."""
    if subject.original.gradient is None:
        return True
    given = Counter(_kind(subject.both.avals[at]) for at in subject.both.inputs)
    gives = Counter(map(_kind, subject.original.outputs.avals))
    return (given & gives).total() > 1


def _kind(aval: Any) -> tuple[tuple[int, ...], str]:
    return tuple(aval.shape), str(aval.dtype)


def _too_much(subject: Subject, program: Any) -> str:
    """Return why a program is not compiled and run in passing, "" if it is."""
    if subject.abstract:
        return "it has no weights"
    size = sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in subject.both.avals)
    if size > _BYTES:
        return f"its arrays are {size >> 20} MiB"
    count = equations(program.jaxpr)
    return f"the loop is a program of {count:,} operations" if count > _EQUATIONS else ""


def equations(jaxpr: Any) -> int:
    """Count the equations of a jaxpr and its inner jaxprs, each once for every place where it occurs."""
    inner = (getattr(child, "jaxpr", child) for equation in jaxpr.eqns for child in children(equation))
    return len(jaxpr.eqns) + sum(map(equations, inner))


def _operations(original: Traced, written: Traced) -> float | None:
    done = work(original.gradient).flops if original.gradient is not None else 0
    return work(written.gradient).flops / done if done and written.gradient is not None else None
