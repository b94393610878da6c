"""What the values and the gradient of a model cost, and of its rerolled form."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.jaxpr.reading.calls import opened
from scanify.rolling import NotRerolled, reroll
from scanify.rolling.find.choose import ON_CPU
from scanify.rolling.find.program import flat
from scanify.rolling.scans.plan import planned
from tests.benchmarks.reroll_models.models import Built

COLUMNS = (
    "equations", "found", "values", "gradients", "trace s", "StableHLO lines", "compile s", "temporaries MB", "step ms",
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    trace: float
    lines: int
    compile: float
    temporaries: int
    step: float
    results: list[Any]


def cost(f: Callable[..., Any], args: tuple[Any, ...]) -> Cost:
    """Of the values and the gradient with respect to the first argument; seconds are of the process's own CPU time."""
    moved, fixed = eqx.partition(args[0], eqx.is_inexact_array)
    others, static = eqx.partition(args[1:], eqx.is_array)

    def total(moved: Any, others: Any) -> Any:
        results = f(eqx.combine(moved, fixed), *eqx.combine(others, static))
        inexact = [each for each in jax.tree.leaves(results) if eqx.is_inexact_array(each)]
        # What is complex has a real sum of squares.
        return sum((jnp.abs(each) ** 2).sum() for each in inexact), inexact

    jax.clear_caches()
    start = time.process_time()
    traced = jax.jit(jax.value_and_grad(total, has_aux=True)).trace(moved, others)
    trace = time.process_time() - start
    lowered = traced.lower()
    start = time.process_time()
    compiled = lowered.compile()
    seconds = time.process_time() - start
    results, steps = compiled(moved, others), []
    for _ in range(10):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(moved, others))
        steps.append(time.perf_counter() - begin)
    temporaries = compiled.memory_analysis().temp_size_in_bytes
    lines = lowered.as_text().count("\n")
    return Cost(trace, lines, seconds, temporaries, min(steps), [results[0][1], results[1]])


def cells(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """What stands in the columns."""
    program = flat(opened(eqx.filter_make_jaxpr(f)(*args)[0])[0])
    plan = planned(program, 3)
    size = f"{len(program.operations):,}"
    if not plan.rolls:
        return [size, "nothing", *[""] * (len(COLUMNS) - 2)]
    wired = [scan.roll.wired for around, _, scan in plan.all_scans() if not around]
    scans = ", ".join(f"{each.count} x {each.period}" for each in wired) or "inside"
    scans += "" if planned(program, 3, ON_CPU).rolls else " (left by default)"
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotRerolled)
        theirs, ours = cost(f, args), cost(reroll(f, min_layers=3), args)
    alike = [_apart(one, other) for one, other in zip(ours.results, theirs.results, strict=True)]
    pairs = [
        (theirs.trace, ours.trace, ".1f"), (theirs.lines, ours.lines, ",.0f"), (theirs.compile, ours.compile, ".1f"),
        (theirs.temporaries / 1e6, ours.temporaries / 1e6, ".2f"), (theirs.step * 1e3, ours.step * 1e3, ".1f"),
    ]  # fmt: skip
    return [size, scans, *alike, *(f"{a:{form}} -> {b:{form}} ({b / a if a else 1:.2f})" for a, b, form in pairs)]


def _apart(ours: Any, theirs: Any) -> str:
    """How far two pytrees of arrays are apart, relative to the largest number in them."""
    pairs = [pair for pair in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True) if pair[0].size]
    largest = max((float(jnp.max(jnp.abs(other))) for _, other in pairs), default=0.0) or 1.0
    worst = max((float(jnp.max(jnp.abs(one - other))) for one, other in pairs), default=0.0) / largest
    return "same bits" if worst == 0 else f"{worst:.0e}"


def built(build: Callable[[], Built]) -> Built:
    """A model, built in silence: packages warn of what they will change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build()
