"""A traced program with its repetitions as scans, and whether it is proved to compute the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.calls import opened
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy
from scanify.rolling.choose import Roll, chosen
from scanify.rolling.emit import Emitted
from scanify.rolling.program import flat
from scanify.verify.proof.attempt import proof_of
from scanify.verify.proof.prove import Proof


@dataclass(frozen=True, eq=False)
class Rolled:
    """A program, and the same with its repetitions as scans: both of the constants of the trace and then its inputs."""

    original: ClosedJaxpr
    program: ClosedJaxpr
    rolls: tuple[Roll, ...]

    def proof(self) -> Proof:
        """Whether both compute the same."""
        return proof_of(self.original, self.program)


def rolled(closed: Any, arrays: Sequence[Any], *, least: int, policy: ScanCheckpointPolicy | None) -> Rolled | None:
    """The rolled program of a trace, given its constants and inputs; None where nothing repeats that is worth it."""
    jaxpr, _ = opened(closed)
    program = flat(jaxpr)
    rolls = chosen(program, least)
    if not rolls:
        return None
    made = jax.make_jaxpr(lambda *given: Emitted(program, rolls, policy)(given))(*arrays)
    return Rolled(_of_all(jaxpr), made, tuple(rolls))


def _of_all(jaxpr: Any) -> ClosedJaxpr:
    """An open jaxpr as a function of its constants, too."""
    invars = [*jaxpr.constvars, *jaxpr.invars]
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=invars), [])
