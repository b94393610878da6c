"""Timing one case: what the loop and its scans take to compile, and to run. It answers figures and no verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Case, build
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.measure.measure import Compiled, compiled, step_seconds
from scanify.verify.programs.pair import pair
from scanify.verify.programs.policy import policy_name, policy_of
from scanify.verify.programs.trace import Policy, Version, trace
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict

_NO_VERDICT = Verdict(Status.NOT_RUN, "timed, not compared")


def timed_case(
    name: str, before: Case, after: Case, *, policies: Sequence[Policy], abstract: bool, **unused: Any
) -> CaseResult:
    """Compile and run both versions, the rewritten one under each of `policies`.

    A comparer of `scanify.verify.run.verify`, in a process where nothing else has run. With `abstract` nothing is
    run, so that there are no `step_seconds`. Raises ScanifyError where the versions do not match or the gradient of
    the call cannot be taken.
    """
    both = pair(build(before, abstract=abstract), build(after, abstract=abstract))
    if isinstance(both, Mismatch):
        raise ScanifyError(f"{name}: the models have different structures: {both}")

    def program(which: Version, policy: Policy) -> Compiled:
        traced = trace(which, both.avals, policy)
        if traced.gradient is None:
            raise ScanifyError(f"{name}: there is no gradient to time: {traced.raised}")
        return compiled(which, both.avals, traced, policy)

    programs = [program(both.before, None), *(program(both.after, policy_of(policy)) for policy in policies)]
    steps: tuple[float | None, ...] = (None,) * len(programs)
    if not abstract:
        steps = step_seconds(programs, both.leaves)
    loop, *scans = (replace(one.measured, step_seconds=step) for one, step in zip(programs, steps, strict=True))
    results = [
        PolicyResult(policy_name(policy), _NO_VERDICT, _NO_VERDICT, figures)
        for policy, figures in zip(policies, scans, strict=True)
    ]
    return CaseResult(name, policies=tuple(results), original=loop, layers=max(both.found.stacks, default=None))
