"""The verdict on two traced programs: proved equal, or else tested by their values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.neutral import digest
from scanify.verify.certificate.write import Certificate, Proved
from scanify.verify.compare.ways import lost_checks, ways_not_taken
from scanify.verify.measure.steps import Steps
from scanify.verify.programs.pair import Pair
from scanify.verify.programs.policy import policy_name, policy_of
from scanify.verify.programs.programs import Job, traced_program
from scanify.verify.programs.readings import Readings
from scanify.verify.programs.trace import Policy, Traced
from scanify.verify.programs.witness import RAISED, Witness
from scanify.verify.proof.attempt import proof_of
from scanify.verify.proof.prove import Proof
from scanify.verify.proof.words import raised, unproved
from scanify.verify.values.numeric import Comparison, Outcome
from scanify.verify.verdict import Status, Verdict

Files = Callable[[str], str | None]


@dataclass(frozen=True, eq=False)
class Subject:
    """The compared versions, the same for every check and under every policy.

    `abstract`: there are no values to test with. `files` returns the displayed name of a file of the user's code, and
    None for other files. `readings` caches the prover's reading of the original.
    """

    both: Pair
    original: Traced
    comparison: Comparison
    abstract: bool
    files: Files | None
    steps: Steps
    readings: Readings = field(default_factory=Readings)
    witness: Witness | None = None
    certificate: Certificate | None = None

    def original_program(self, job: Job) -> ClosedJaxpr:
        """Return a program of the original, traced once. Raises all errors of the user's code."""
        return self.comparison.once(("program", job), lambda: self._traced("original", job))

    def rewritten_program(self, job: Job) -> ClosedJaxpr:
        """Return the same program of the rewritten version."""
        return self._traced("rewritten", job)

    def _traced(self, side: str, job: Job) -> ClosedJaxpr:
        program = self.both.before if side == "original" else self.both.after
        with self.steps.step("trace"):
            said = RAISED
            try:
                found = traced_program(program, self.both.avals, job)
                said = digest(found) if self.witness is not None else ""
            finally:
                if self.witness is not None:
                    self.witness.saw(side, job, said)
        return found

    def said(self, error: Exception) -> str:
        """Return an exception of user code in one line."""
        return raised(error, self.files).partition("\n")[0]


@dataclass(frozen=True)
class Once:
    """The verdict of a check made once for all policies; None if it does not apply, with the reason in `note`."""

    verdict: Verdict | None
    note: str = ""


def judge(
    subject: Subject,
    before: ClosedJaxpr,
    after: ClosedJaxpr,
    test: Callable[[Comparison], Outcome],
    *,
    more: Sequence[str] = (),
    policy: Policy = None,
    cotangents: int = 0,
    tangents: int = 0,
    untested: str = "",
    what: str = "",
) -> Verdict:
    """Return the verdict on two programs of the leaves of the original and of `more` named inputs after them.

    `test` is called without a proof, unless `untested` is a reason not to. `cotangents`: the number of inputs, from the
    end, that are cotangents of outputs. `tangents`: the number that are tangents of others. `what` describes the
    programs for the certificate.
    """
    names, layers = [*subject.both.found.names, *more], [*subject.both.found.layers, *(None for _ in more)]
    with subject.steps.step("prove"):
        proof = proof_of(before, after, names, layers, subject.files, cotangents, tangents, subject.readings)
    if proof.proved:
        if subject.certificate is not None:
            under = "" if policy is None else f" under {policy_name(policy)}"
            subject.certificate.add(Proved(f"{what}{under}", before, after, cotangents, tangents))
        weak = "" if all(proof.avals_equal) else "equal in value, shape and dtype, but not in weak type"
        return Verdict(Status.PROVED, weak)
    why = unproved(proof)
    if subject.abstract:
        reason = f"not proved, and abstract weights have no values to test with: {why}"
        return Verdict(Status.NOT_RUN, reason, proof.difference)
    if untested:
        return Verdict(Status.NOT_RUN, f"not proved, and not tested as {untested}: {why}", proof.difference)
    with subject.steps.step("test"):
        outcome = test(dataclasses.replace(subject.comparison, policy=policy_of(policy)))
    return _tested(outcome, proof, why, ways_not_taken(before, after), lost_checks(before, after))


def _tested(outcome: Outcome, proof: Proof, why: str, ways: str, lost: str) -> Verdict:
    if not outcome.agree:
        return Verdict(Status.FAILED, f"{outcome.text}; {why}", proof.difference)
    if not outcome.ran:
        return Verdict(Status.NOT_RUN, f"not proved, and not tested: {outcome.text}; {why}", proof.difference)
    if not proof.effects_equal or lost:
        return Verdict(Status.NOT_RUN, f"the values agree ({outcome.text}), but {lost or why}", proof.difference)
    return Verdict(Status.TESTED, f"not proved ({why}); {outcome.text}{ways}", proof.difference)
