"""Does the checker of certificates follow a proof? Where not, by which primitives."""

from typing import Any

from scanify.jaxpr import number
from scanify.jaxpr.reading.calls import children, opened
from scanify.replay import run
from scanify.verify.certificate.write import Certificate, Proved


def unfollowed(before: Any, after: Any, cotangents: int) -> str | None:
    """The primitives in two programs that the prover has a rule for and the checker has none, if the checker does not
    follow their proof; None if it does.
    """
    certificate = Certificate("pair")
    certificate.add(Proved("outputs", before, after, cotangents, 0))
    if certificate.written()["checks"]:
        return None
    reason = certificate.unwritten[0]
    if "not shown to be equal" not in reason:
        return reason.partition(": ")[2]
    names = {name for program in (before, after) for name in _primitives(program)}
    return ", ".join(sorted(names & set(number.RULES) - set(run.RULES) - {"scan", "cond"})) or "the spelling alone"


def _primitives(program: Any) -> set[str]:
    inner, _ = opened(program)
    names = {equation.primitive.name for equation in inner.eqns}
    return names.union(*(_primitives(each) for equation in inner.eqns for each in children(equation)))
