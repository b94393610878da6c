"""The compared programs of a version, by name, so that another process can trace the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.neutral import digest
from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.jvp import jvp, second
from scanify.verify.programs.trace import Traced, Version, differentiated, gradients, trace, under
from scanify.verify.programs.vmap import Nest
from scanify.verify.training.step import step
from scanify.verify.values.arrays import is_inexact


@dataclass(frozen=True)
class Job:
    """One program: its kind, the remat policy it is traced under, and its leaves.

    Kinds: "call" (outputs and gradients), "gradient" (of these leaves, with cotangents of the outputs `used`, or of
    all), "second" (Hessian-vector products), "jvp" (along these leaves), "vmap" (a `nest` of maps), "step" (of
    training, which updates these).
    """

    kind: str
    policy: str | bool | None = None
    leaves: tuple[int, ...] = ()
    used: tuple[int, ...] | None = None
    nest: Nest | None = None


def call_digest(traced: Traced) -> str:
    """Return the digest of a traced call."""
    shown = [str(aval) for aval in traced.outputs.avals]
    return digest(traced.forward, traced.training, tuple(traced.outputs.names), tuple(shown))


def traced_digest(program: Version, avals: Sequence[jax.ShapeDtypeStruct], job: Job) -> str:
    """Trace a program and return its digest."""
    if job.kind == "call":
        return call_digest(trace(program, avals, job.policy))
    return digest(traced_program(program, avals, job))


def traced_program(program: Version, avals: Sequence[jax.ShapeDtypeStruct], job: Job) -> ClosedJaxpr:
    """Trace a program other than the call itself. Raises all errors of the user's code."""
    with under(job.policy, program):
        return _MAKES[job.kind](program, list(avals), job)


def _cotangents(
    program: Version, avals: Sequence[Any], used: Sequence[int] | None = None
) -> list[jax.ShapeDtypeStruct]:
    shapes = jax.eval_shape(lambda leaves: flat_outputs(program.call(program.own(leaves)))[0], list(avals))
    read = [each for i, each in enumerate(shapes) if is_inexact(each) and (used is None or i in used)]
    return [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in read]


def _moves(avals: Sequence[Any], at: Sequence[int]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(avals[i].shape, avals[i].dtype) for i in at]


def _gradient(program: Version, avals: Sequence[Any], job: Job) -> ClosedJaxpr:
    cotangents = _cotangents(program, avals, job.used)
    return jax.make_jaxpr(lambda xs, cts: gradients(program, xs, cts, job.leaves, job.used))(avals, cotangents)


def _second(program: Version, avals: Sequence[Any], job: Job) -> ClosedJaxpr:
    cotangents = _cotangents(program, avals)
    moves = [*_moves(avals, differentiated(avals)), *cotangents]
    return jax.make_jaxpr(lambda *each: second(program, *each))(avals, cotangents, moves)


def _jvp(program: Version, avals: Sequence[Any], job: Job) -> ClosedJaxpr:
    at = job.leaves
    return jax.make_jaxpr(lambda leaves, moves: jvp(program, leaves, moves, at))(avals, _moves(avals, at))


def _vmap(program: Version, avals: Sequence[Any], job: Job) -> ClosedJaxpr:
    assert job.nest is not None
    return jax.make_jaxpr(job.nest.function(program, len(avals)))(job.nest.inputs(program, avals))


def _step(program: Version, avals: Sequence[Any], job: Job) -> ClosedJaxpr:
    return jax.make_jaxpr(lambda leaves, grads: step(program, leaves, grads, job.leaves))(
        avals, _moves(avals, job.leaves)
    )


_MAKES: dict[str, Any] = {"gradient": _gradient, "second": _second, "jvp": _jvp, "vmap": _vmap, "step": _step}
