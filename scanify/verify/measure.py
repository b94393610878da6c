"""What a version costs: the size of its program, the time to compile it, and its memory, forward and backward."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import jax

from scanify.verify.arrays import is_inexact, struct
from scanify.verify.trace import Policy, Traced, Version, under, vjp
from scanify.verify.verdict import Measurement


def from_trace(traced: Traced) -> Measurement:
    """What the jaxpr alone tells."""
    return Measurement(saved_bytes=traced.saved_bytes, trace_seconds=traced.seconds)


def measured(program: Version, avals: Sequence[jax.ShapeDtypeStruct], traced: Traced, policy: Policy) -> Measurement:
    """Lower and compile outputs and gradients as a function of the version's own leaves; nothing is run.

    The rewritten version is measured without the stacking of leaves, which is done once, when the model is built.
    """
    own = [struct(leaf) for leaf in jax.eval_shape(lambda xs: program.own(xs), list(avals))]
    cotangents = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in traced.outputs.avals if is_inexact(a)]

    def both(leaves: Sequence[Any], cts: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        arrays, pull = vjp(program, leaves)
        return arrays, list(pull(list(cts)))

    with under(policy):
        start = time.perf_counter()
        staged = jax.jit(both).trace(own, cotangents)
        middle = time.perf_counter()
        lowered = staged.lower()
        after = time.perf_counter()
        compiled = lowered.compile()
        end = time.perf_counter()
    memory = compiled.memory_analysis()
    return Measurement(
        saved_bytes=traced.saved_bytes,
        stablehlo_lines=lowered.as_text().count("\n"),
        trace_seconds=middle - start,
        lower_seconds=after - middle,
        compile_seconds=end - after,
        temp_bytes=None if memory is None else int(memory.temp_size_in_bytes),
        backend=jax.default_backend(),
    )
