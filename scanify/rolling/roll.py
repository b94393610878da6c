"""A traced program with its repetitions as scans, and the proof that it computes the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.calls import opened
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.rolling.explain import files
from scanify.rolling.find.choose import COUNTED, Costs
from scanify.rolling.find.program import flat
from scanify.rolling.scans.emit import run
from scanify.rolling.scans.plan import Plan, planned
from scanify.verify.proof.attempt import proof_of
from scanify.verify.proof.prove import Proof


@dataclass(frozen=True, eq=False)
class Rolled:
    """A program, and the same with repetitions as scans; the inputs of both begin with the constants of the trace."""

    original: ClosedJaxpr
    program: ClosedJaxpr
    plan: Plan

    def proof(self) -> Proof:
        """Prove that both programs compute the same."""
        return proof_of(self.original, self.program, files=files)


def rolled(
    closed: Any, arrays: Sequence[Any], *, least: int, policy: ScanCheckpointPolicy | None, costs: Costs = COUNTED
) -> Rolled:
    """Return the rolled program of a trace, or the trace itself if no scan is worthwhile."""
    jaxpr, _ = opened(closed)
    plan = planned(flat(jaxpr), least, costs)
    if not plan.rolls:
        return Rolled(_of_all(jaxpr), _of_all(jaxpr), plan)
    made = jax.make_jaxpr(lambda *given: run(plan, given, policy))(*arrays)
    return Rolled(_of_all(jaxpr), made, plan)


def _of_all(jaxpr: Any) -> ClosedJaxpr:
    """Return an open jaxpr as a function of its constants and inputs."""
    invars = [*jaxpr.constvars, *jaxpr.invars]
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=invars), [])
