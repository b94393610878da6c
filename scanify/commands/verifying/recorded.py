"""Rewriting on the evidence of a run: loops are written that a recorded call shows, and the others are held back."""

import os
from collections.abc import Callable, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.plan import Plan
from scanify.commands.verifying.cases import verifiable
from scanify.errors import CaseFailed
from scanify.pipeline import Outcome

if TYPE_CHECKING:
    from scanify.verify.verdict import CaseResult, Verification


def by_recorded_calls(
    rewrite: Callable[[Callable[[Plan], bool]], Outcome],
    verify: Callable[[Outcome], "Verification"],
    accepted: Set[str],
) -> "tuple[Outcome, Verification | None]":
    """Rewrite all candidates in memory, and verify; if calls show only some of them, rewrite and verify those alone.

    Safe loops stay in, whether or not a call reaches them. Raises CaseFailed if the command records no call.
    """
    outcome = rewrite(lambda plan: not plan.left(accepted) or not plan.beyond_cases(accepted))
    if not verifiable(outcome):
        return outcome, None
    verified = verify(outcome)
    shown = _shown(verified, outcome)
    if failed(verified) or all(plan.place in shown or not plan.left(accepted) for plan in outcome.applied):
        return outcome, verified
    not_shown = {
        plan.place: _why(verified) for plan in outcome.applied if plan.place not in shown and plan.left(accepted)
    }
    fewer = replace(rewrite(lambda plan: not plan.left(accepted) or plan.place in shown), short=not_shown)
    if not verifiable(fewer) or not shown:
        return fewer, verified
    return fewer, verify(fewer)


def failed(verified: "Verification") -> bool:
    """True if a recorded call shows that the rewrite is wrong."""
    from scanify.verify.verdict import Status

    return any(Status.FAILED in _statuses(case) or case.findings for case in verified.cases)


def _statuses(case: "CaseResult") -> set[object]:
    verdicts = [case.parameters, *case.once, *(v for p in case.policies for v in (p.outputs, p.gradients))]
    return {verdict.status for verdict in verdicts if verdict is not None}


def _shown(verified: "Verification", outcome: Outcome) -> frozenset[Place]:
    """The loops that a good call runs for two iterations or more."""
    ran = {
        (os.path.realpath(run.file), run.line)
        for case in verified.cases
        if case.good
        for run in case.loops
        if (run.iterations or 0) > 1
    }
    return frozenset(
        plan.place
        for plan in outcome.applied
        if any(
            path == os.path.realpath(plan.place.path) and plan.place.span.line <= line <= plan.place.span.end_line
            for path, line in ran
        )
    )


def _why(verified: "Verification") -> str:
    errors = [case.error for case in verified.cases if case.error is not None]
    if errors and len(errors) == len(verified.cases):
        raise CaseFailed(f"no call was recorded, and no file was changed\n{errors[0]}")
    return "no recorded call shows it"
