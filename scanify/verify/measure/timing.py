"""Time one case: how long the loop and its scans take to compile, and to run. It gives figures and no verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scanify.errors import ScanifyError
from scanify.verify.cases.build import Case, build
from scanify.verify.leaves.correspond import Mismatch
from scanify.verify.linen.align import aligned
from scanify.verify.measure.measure import Executables, compiled, compiled_call, step_seconds
from scanify.verify.programs.pair import pair
from scanify.verify.programs.policy import policy_name, policy_of
from scanify.verify.programs.trace import Policy, Version, trace
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict

_NO_VERDICT = Verdict(Status.NOT_RUN, "timed, not compared")


def timed_case(
    name: str, before: Case, after: Case, *, policies: Sequence[Policy], abstract: bool, **unused: Any
) -> CaseResult:
    """Compile and run both versions, their calls and gradients, the rewritten one under each of `policies`.

    A comparer for `scanify.verify.run.verify`, in a process where nothing else has run. With `abstract` nothing is run,
    so there are no `step_seconds` or `call_seconds`. A call without a gradient, such as one that decodes in a
    `while_loop`, is timed alone. If the rewritten version is the same program, nothing is timed. Raises ScanifyError if
    the versions do not match.
    """
    loop, scan = build(before, abstract=abstract), build(after, abstract=abstract)
    first = aligned(before, loop, scan, abstract=abstract)
    both = first if isinstance(first, Mismatch) else pair(first, scan)
    if isinstance(both, Mismatch):
        raise ScanifyError(f"{name}: the models have different structures: {both}")

    versions: list[tuple[Version, Policy]] = [(both.before, None)]
    versions += [(both.after, policy_of(policy)) for policy in policies]
    traces = [trace(which, both.avals, policy) for which, policy in versions]
    without = [each for each in traces if each.gradient is None]
    if without and len(without) < len(traces):
        raise ScanifyError(f"{name}: one version has a gradient to time, and one has none: {without[0].raised}")
    executables = Executables()
    programs = [
        compiled(which, both.avals, traced, policy, executables)
        for (which, policy), traced in zip(versions, traces, strict=True)
    ]
    if all(one.executable is programs[0].executable for one in programs):
        return CaseResult(name, original=programs[0].measured)
    steps: Sequence[float | None] = (None,) * len(programs)
    calls: Sequence[float | None] = steps
    if not abstract:
        calls = step_seconds([compiled_call(*each, both.avals) for each in versions], both.leaves)
        if not without:
            steps = step_seconds(programs, both.leaves)
    original, *scans = (
        replace(one.measured, step_seconds=step, call_seconds=call)
        for one, step, call in zip(programs, steps, calls, strict=True)
    )
    results = [
        PolicyResult(policy_name(policy), _NO_VERDICT, _NO_VERDICT, figures)
        for policy, figures in zip(policies, scans, strict=True)
    ]
    return CaseResult(name, policies=tuple(results), original=original, layers=max(both.found.stacks, default=None))
