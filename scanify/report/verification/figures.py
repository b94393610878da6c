"""The measurements in reports: their names, values and formatting."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scanify.report.verification.summary import in_seconds
from scanify.verify.children.limits import human_bytes
from scanify.verify.verdict import CaseResult, Measurement

LOOP = "(loop)"


@dataclass(frozen=True)
class Figure:
    """One measured quantity.

    `heading` is the title of a column, `title` the title of a plot. `show` formats a value with its unit, `tick`
    a round value at an axis. Steps of an axis are powers of `unit`: 1024 for bytes.
    """

    heading: str
    title: str
    value: Callable[[Measurement], float | None]
    show: Callable[[float], str]
    tick: Callable[[float], str]
    unit: int = 10

    def of(self, measured: Measurement) -> float | None:
        """Return the value, or None if it was not measured, is not finite or is negative."""
        value = self.value(measured)
        return value if value is not None and math.isfinite(value) and value >= 0 else None

    def text(self, measured: Measurement) -> str | None:
        value = self.of(measured)
        return None if value is None else self.show(value)


def _bytes(value: float) -> str:
    return human_bytes(int(value))


def _briefly(value: float) -> str:
    """Format as `12.3 ms`, or in seconds from 1 s on; a run of a small model takes microseconds."""
    return in_seconds(value) if value >= 1 else f"{1e3 * value:.3g} ms"


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _tick(seconds: float) -> str:
    return f"{seconds:,g} s"


SAVED = Figure("saved", "Saved between forward and backward", lambda m: m.saved_bytes, _bytes, _bytes, 1024)
STABLEHLO = Figure("StableHLO lines", "StableHLO lines", lambda m: m.stablehlo_lines, _count, _count)
TRACE = Figure("trace", "Seconds to trace", lambda m: m.trace_seconds, in_seconds, _tick)
LOWER = Figure("lower", "Seconds to lower", lambda m: m.lower_seconds, in_seconds, _tick)
COMPILE = Figure("compile", "Seconds to compile", lambda m: m.compile_seconds, in_seconds, _tick)
TEMPORARIES = Figure("temporaries", "Temporaries of the gradient", lambda m: m.temp_bytes, _bytes, _bytes, 1024)
STEP = Figure("one run", "Seconds of one run of the gradient", lambda m: m.step_seconds, _briefly, _tick)
CALL = Figure("one call", "Seconds of one run of the call alone", lambda m: m.call_seconds, _briefly, _tick)

EVERY = (SAVED, TEMPORARIES, STABLEHLO, TRACE, LOWER, COMPILE, STEP, CALL)
# The figures compared with the loop's in the short table.
SHORT = (SAVED, STABLEHLO, COMPILE)
PLOTTED = (COMPILE, STABLEHLO, TEMPORARIES, SAVED)


def rows(case: CaseResult) -> tuple[tuple[str, Measurement], ...]:
    """Return the measurements of the loop and of each policy."""
    return ((LOOP, case.original), *((policy.policy, policy.measured) for policy in case.policies))


def measured(case: CaseResult, figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return the figures that were measured for the loop or any policy."""
    return tuple(figure for figure in figures if any(figure.of(row) is not None for _, row in rows(case)))


def backend(case: CaseResult) -> str | None:
    """Return the backend that the programs were compiled for."""
    return next((row.backend for _, row in rows(case) if row.backend is not None), None)
