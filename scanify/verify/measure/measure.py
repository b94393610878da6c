"""The cost of a version, forward and backward: the size of its program, times to compile and run it, its memory."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from scanify.verify.measure.work import work
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Policy, Traced, Version, under, vjp
from scanify.verify.values.arrays import is_inexact, struct
from scanify.verify.verdict import Measurement

# Steps alternate until this many seconds have passed, but at least this often.
_SECONDS, _ROUNDS = 2.0, 5
# A round runs a step as often as fits into this many seconds, so that the clock's resolution does not matter.
_TURN = 0.002


@dataclass(frozen=True, eq=False)
class Compiled:
    """The compiled outputs and gradients of a version, as a function of its own leaves and of cotangents."""

    program: Version
    measured: Measurement
    executable: Any
    cotangents: tuple[jax.ShapeDtypeStruct, ...]


@dataclass(eq=False)
class Executables:
    """Compiled programs, and their compile times, by the digest of their StableHLO.

    Two policies may make the same program (nested in one chunk is full remat): it is compiled once, even if it is both
    measured and executed.
    """

    known: dict[str, tuple[Any, float]] = field(default_factory=dict)
    programs: dict[tuple[str, str, str], Compiled] = field(default_factory=dict)

    def of(self, program: Version, avals: Sequence[jax.ShapeDtypeStruct], traced: Traced, policy: Policy) -> Compiled:
        """Return the compiled outputs and gradients of a version under a policy, in the current precision."""
        key = program.name, repr(policy), str(jax.config.jax_default_matmul_precision)
        if key not in self.programs:
            self.programs[key] = compiled(program, avals, traced, policy, self)
        return self.programs[key]

    def compiled(self, lowered: Any, text: str) -> tuple[Any, float]:
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest not in self.known:
            start = time.perf_counter()
            executable = lowered.compile()
            self.known[digest] = (executable, time.perf_counter() - start)
        return self.known[digest]


def from_trace(traced: Traced) -> Measurement:
    """Return the figures that the jaxpr alone gives."""
    if traced.gradient is None:
        return Measurement(saved_bytes=traced.saved_bytes, trace_seconds=traced.seconds)
    done = work(traced.gradient)
    return Measurement(traced.saved_bytes, trace_seconds=traced.seconds, flops=done.flops, moved_bytes=done.moved)


def compiled(
    program: Version,
    avals: Sequence[jax.ShapeDtypeStruct],
    traced: Traced,
    policy: Policy,
    executables: Executables | None = None,
) -> Compiled:
    """Lower and compile outputs and gradients as a function of the version's own leaves; nothing is run.

    The rewritten version is measured without the stacking of leaves, which is done once, when the model is built. If
    the call cannot be differentiated, only its outputs are compiled.
    """
    own = [struct(leaf) for leaf in jax.eval_shape(lambda xs: program.own(xs), list(avals))]
    cotangents = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in traced.outputs.avals if is_inexact(a)]

    def both(leaves: Sequence[Any], cts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if traced.gradient is None:
            return flat_outputs(program.call(leaves))[0], []
        arrays, pull = vjp(program, leaves)
        return arrays, list(pull(list(cts)))

    _warm_up()
    with under(policy, program):
        start = time.perf_counter()
        staged = jax.jit(both).trace(own, cotangents)
        middle = time.perf_counter()
        lowered = staged.lower()
        after = time.perf_counter()
        text = lowered.as_text()
        executable, seconds = (executables or Executables()).compiled(lowered, text)
    figures = replace(
        from_trace(traced),
        stablehlo_lines=text.count("\n"),
        trace_seconds=middle - start,
        lower_seconds=after - middle,
        compile_seconds=seconds,
        backend=jax.default_backend(),
    )
    return Compiled(program, _with_memory(figures, executable.memory_analysis()), executable, tuple(cotangents))


def compiled_call(program: Version, policy: Policy, avals: Sequence[jax.ShapeDtypeStruct]) -> Compiled:
    """Compile the outputs alone, without figures."""
    own = [struct(leaf) for leaf in jax.eval_shape(lambda xs: program.own(xs), list(avals))]
    with under(policy, program):
        call = jax.jit(lambda leaves, cotangents: flat_outputs(program.call(leaves))[0])
        return Compiled(program, Measurement(), call.lower(own, []).compile(), ())


@cache
def _warm_up() -> None:
    """Start the backend and its compiler, so that the first measurement does not include it."""
    jax.jit(lambda x: x + 1).trace(jax.ShapeDtypeStruct((), jnp.float32)).lower().compile()


def _with_memory(figures: Measurement, memory: Any) -> Measurement:
    """Add the result of `memory_analysis`; None on a backend without it."""
    if memory is None:
        return figures
    host = getattr(memory, "host_temp_size_in_bytes", None)
    return replace(
        figures,
        temp_bytes=int(memory.temp_size_in_bytes),
        argument_bytes=int(memory.argument_size_in_bytes),
        output_bytes=int(memory.output_size_in_bytes),
        host_bytes=None if host is None else int(host),
    )


def step_seconds(
    programs: Sequence[Compiled], leaves: Sequence[Any], seconds: float | None = None
) -> tuple[float, ...]:
    """Return the median seconds of one run of each program on the `leaves` of the original, for runs of `seconds`.

    They alternate, so that all see the same machine, and every other round is reversed: a step behind one with large
    buffers waits for these to be freed.
    """
    given = [
        (one.executable, one.program.own(leaves), [jnp.ones(c.shape, c.dtype) for c in one.cotangents])
        for one in programs
    ]
    times = []
    for executable, own, cotangents in given:
        jax.block_until_ready(executable(own, cotangents))  # the first run warms up
        once = _seconds(executable, own, cotangents, 1)
        times.append(max(1, int(_TURN / max(once, 1e-9))))
    found: list[list[float]] = [[] for _ in given]
    begin, turn = time.perf_counter(), 0
    limit = _SECONDS if seconds is None else seconds
    while turn < _ROUNDS or time.perf_counter() - begin < limit:
        order = range(len(given))
        for at in reversed(order) if turn % 2 else order:
            found[at].append(_seconds(*given[at], times[at]))
        turn += 1
    return tuple(statistics.median(mine) for mine in found)


def _seconds(executable: Any, own: Sequence[Any], cotangents: Sequence[Any], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        jax.block_until_ready(executable(own, cotangents))
    return (time.perf_counter() - start) / times
