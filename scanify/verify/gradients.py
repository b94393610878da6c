"""Are the gradients the same, and does every layer that received one still receive it?"""

from __future__ import annotations

import dataclasses

from scanify.verify.judge import Subject, judge
from scanify.verify.lost_gradients import lost_gradients
from scanify.verify.numeric import compare_gradients
from scanify.verify.trace import Policy, Traced
from scanify.verify.verdict import Status, Verdict


def gradients(subject: Subject, traced: Traced, policy: Policy, outputs: Verdict) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict on the gradients under a policy, and findings that the verdict does not hold.

    Gradients that are not proved are not tested where the outputs were seen to differ: theirs then do, too.
    """
    before, after = subject.original.gradient, traced.gradient
    if before is None:
        return Verdict(Status.TESTED, f"the original cannot be differentiated: {subject.original.raised}"), ()
    if after is None:
        return Verdict(Status.FAILED, f"the rewritten version cannot be differentiated: {traced.raised}"), ()
    if [(a.shape, a.dtype) for a in before.in_avals] != [(a.shape, a.dtype) for a in after.in_avals]:
        return Verdict(Status.NOT_RUN, "the outputs differ in shape or dtype, so their cotangents do too"), ()
    cotangents = [f"cotangent of {subject.comparison.outputs[i]}" for i in subject.comparison.inexact]
    verdict = judge(
        subject,
        before,
        after,
        compare_gradients,
        more=cotangents,
        policy=policy,
        cotangents=len(cotangents),
        untested="the outputs differ already" if outputs.status is Status.FAILED else "",
    )
    if verdict.status is Status.PROVED:
        return verdict, ()
    lost = lost_gradients(subject, before, after)
    if lost is None:
        return verdict, ()
    return (
        (verdict, (lost,)) if verdict.good else (dataclasses.replace(verdict, reason=f"{lost}; {verdict.reason}"), ())
    )
