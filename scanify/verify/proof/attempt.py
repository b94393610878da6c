"""Run code that may raise, to get a verdict in any case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr

from scanify.errors import ScanifyError
from scanify.verify.cases.case import CaseError
from scanify.verify.programs.readings import Readings
from scanify.verify.proof.prove import Proof, prove
from scanify.verify.proof.words import raised
from scanify.verify.verdict import Status, Verdict

Files = Callable[[str], str | None]


def rewritten(what: str, act: Callable[[], Any], files: Files | None) -> Any:
    """Return `act()`, or FAILED if the rewritten version raises and the original did not.

    A mistake in the case itself is not a verdict on the rewritten version, and raises.
    """
    try:
        return act()
    except (MemoryError, ScanifyError, CaseError):
        raise
    except Exception as error:  # user code may raise anything
        return Verdict(Status.FAILED, f"the rewritten version {what}: {raised(error, files)}")


def proof_of(
    before: ClosedJaxpr,
    after: ClosedJaxpr,
    names: Sequence[str] = (),
    layers: Sequence[int | None] = (),
    files: Files | None = None,
    cotangents: int = 0,
    tangents: int = 0,
    readings: Readings | None = None,
) -> Proof:
    """Call `prove`; if the prover fails on a program, it is not proved, and so is left to the other checks."""
    try:
        return prove(
            before,
            after,
            inputs=names,
            layers=layers,
            files=files,
            cotangents=cotangents,
            tangents=tangents,
            readings=readings,
        )
    except MemoryError:
        raise
    except Exception as error:
        unknown = (False,) * len(before.out_avals)
        stumbled = f"the prover stopped with {type(error).__name__}: {str(error)[:200]}"
        pure = not before.jaxpr.effects and not after.jaxpr.effects
        return Proof(unknown, unknown, pure, None, (stumbled,))
