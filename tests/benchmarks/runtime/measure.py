"""Figures of one contender: seconds to trace, lower and compile, lines of StableHLO, bytes kept and needed, steps."""

import hashlib
import re
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
    """Seconds and bytes; `step` is the median of the interleaved runs `steps`, None until they are done.

    `program` is a digest of the StableHLO: where two are equal, XLA is given the same program.
    """

    sizes: str
    layers: int
    contender: str
    policy: str
    trace: float
    lower: float
    compile: float
    stablehlo_lines: int
    program: str
    saved_bytes: int
    temp_bytes: int
    step: float | None = None
    steps: tuple[float, ...] = ()

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
    memory, text = executable.memory_analysis(), lowered.as_text()
    figures = Figures(
        sizes,
        count,
        contender.name,
        contender.policy,
        after_trace - start,
        after_lower - after_trace,
        after_compile - after_lower,
        len(text.splitlines()),
        digest(text),
        saved_bytes(loss, contender.parameters, x),
        int(memory.temp_size_in_bytes),
    )
    return figures, executable


def digest(stablehlo: str) -> str:
    """Of a program without the names of its results, which are key paths of the parameters."""
    return hashlib.sha256(re.sub(r'jax\.result_info = "[^"]*"', "", stablehlo).encode()).hexdigest()[:16]


def saved_bytes(loss: Any, parameters: Any, x: Any) -> int:
    """Bytes that the forward pass keeps for the backward pass, beside its inputs; the same on every backend."""
    jaxpr = jax.make_jaxpr(lambda p, x: jax.tree.leaves(jax.vjp(loss, p, x)[1]))(parameters, x).jaxpr
    kept = {id(var): var.aval for var in jaxpr.outvars if not isinstance(var, Literal)}
    for var in (*jaxpr.invars, *jaxpr.constvars):
        kept.pop(id(var), None)
    return sum(aval.size * aval.dtype.itemsize for aval in kept.values() if hasattr(aval, "dtype"))


def interleaved_steps(runs: Sequence[tuple[Figures, Any, Any]], x: jax.Array, rounds: int, budget: float) -> None:
    """Median seconds of a step of each, one after another and round after round, so that all see the same machine.

    At least `rounds` rounds, and more until `budget` seconds have passed. The order turns around in every other round:
    what runs behind a step with large buffers waits for them to be given back.
    """
    seconds: list[list[float]] = [[] for _ in runs]
    begin = time.perf_counter()
    turn = 0
    while turn <= rounds or time.perf_counter() - begin < budget:
        order = range(len(runs))
        for position in reversed(order) if turn % 2 else order:
            _, executable, parameters = runs[position]
            start = time.perf_counter()
            jax.block_until_ready(executable(parameters, x))
            if turn:  # the first round warms up
                seconds[position].append(time.perf_counter() - start)
        turn += 1
    for (figures, _, _), mine in zip(runs, seconds, strict=True):
        figures.step, figures.steps = statistics.median(mine), tuple(mine)
