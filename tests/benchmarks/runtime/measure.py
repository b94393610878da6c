"""Figures of one contender: seconds to trace, lower and compile, lines of StableHLO, bytes kept and needed, steps."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal

from tests.benchmarks.runtime.contenders import Contender


@dataclass
class Figures:
    """Seconds and bytes; `step` is the median of the interleaved runs, None until they are done."""

    sizes: str
    layers: int
    contender: str
    policy: str
    trace: float
    lower: float
    compile: float
    stablehlo_lines: int
    saved_bytes: int
    temp_bytes: int
    step: float | None = None

    def row(self) -> dict[str, Any]:
        return asdict(self)


def compiled(contender: Contender, sizes: str, count: int, x: jax.Array) -> tuple[Figures, Any]:
    """Compile the gradient with respect to parameters and input, and say what that took."""

    def loss(parameters: Any, x: Any) -> Any:
        return jnp.sum(contender.apply(parameters, x) ** 2)

    start = time.perf_counter()
    traced = jax.jit(jax.value_and_grad(loss, argnums=(0, 1))).trace(contender.parameters, x)
    after_trace = time.perf_counter()
    lowered = traced.lower()
    after_lower = time.perf_counter()
    executable = lowered.compile()
    after_compile = time.perf_counter()
    memory = executable.memory_analysis()
    figures = Figures(
        sizes,
        count,
        contender.name,
        contender.policy,
        after_trace - start,
        after_lower - after_trace,
        after_compile - after_lower,
        len(lowered.as_text().splitlines()),
        saved_bytes(loss, contender.parameters, x),
        int(memory.temp_size_in_bytes),
    )
    return figures, executable


def saved_bytes(loss: Any, parameters: Any, x: Any) -> int:
    """Bytes that the forward pass keeps for the backward pass, beside its inputs; the same on every backend."""
    jaxpr = jax.make_jaxpr(lambda p, x: jax.tree.leaves(jax.vjp(loss, p, x)[1]))(parameters, x).jaxpr
    kept = {id(var): var.aval for var in jaxpr.outvars if not isinstance(var, Literal)}
    for var in (*jaxpr.invars, *jaxpr.constvars):
        kept.pop(id(var), None)
    return sum(aval.size * aval.dtype.itemsize for aval in kept.values() if hasattr(aval, "dtype"))


def interleaved_steps(runs: Sequence[tuple[Figures, Any, Any]], x: jax.Array, rounds: int) -> None:
    """Median seconds of a step of each, one after another and round after round, so that all see the same machine."""
    seconds: list[list[float]] = [[] for _ in runs]
    for turn in range(rounds + 1):
        for position, (_, executable, parameters) in enumerate(runs):
            start = time.perf_counter()
            jax.block_until_ready(executable(parameters, x))
            if turn:  # the first round warms up
                seconds[position].append(time.perf_counter() - start)
    for (figures, _, _), mine in zip(runs, seconds, strict=True):
        figures.step = statistics.median(mine)
