"""Compare the gradients, and check that every layer which received one still receives it.

If a program contains a function with a custom derivative, more than the gradients is compared: the outputs as computed
on the way, which such a rule may change; the gradients of the parameters alone and of the inputs alone, as in training,
and along all cases that the rule distinguishes (`directions`); and second derivatives.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.user_rules import has_derivative_rules
from scanify.verify.compare.directions import Direction, directions, parts
from scanify.verify.compare.judge import Once, Subject, judge
from scanify.verify.compare.lost_gradients import lost_gradients
from scanify.verify.compare.weakest import along, first_unless_failed
from scanify.verify.programs.policy import policy_of
from scanify.verify.programs.programs import Job
from scanify.verify.programs.trace import Policy, Traced, differentiated
from scanify.verify.values.derivatives import compare_gradients, compare_second
from scanify.verify.verdict import Status, Verdict


@dataclasses.dataclass(frozen=True)
class Gradients:
    """The verdict on the gradients under a policy, other findings, and notes."""

    verdict: Verdict
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def gradients(subject: Subject, traced: Traced, policy: Policy, outputs: Verdict) -> Gradients:
    """Return whether the gradients under a policy are the same.

    Without a proof, gradients are not tested if the outputs differ, since the gradients then differ, too.
    """
    before, after = subject.original.gradient, traced.gradient
    if before is None:
        return Gradients(Verdict(Status.TESTED, f"the original cannot be differentiated: {subject.original.raised}"))
    if after is None:
        return Gradients(Verdict(Status.FAILED, f"the rewritten version cannot be differentiated: {traced.raised}"))
    if [(a.shape, a.dtype) for a in before.in_avals] != [(a.shape, a.dtype) for a in after.in_avals]:
        return Gradients(Verdict(Status.NOT_RUN, "the outputs differ in shape or dtype, so their cotangents do too"))
    untested = "the outputs differ already" if outputs.status is Status.FAILED else ""
    found = _all(subject, traced, policy, untested)
    verdict = found.verdict
    if verdict.status is Status.PROVED:
        return found
    lost = lost_gradients(subject, before, after)
    if lost is None:
        return found
    if verdict.good:
        return dataclasses.replace(found, findings=(lost,))
    return Gradients(dataclasses.replace(verdict, reason=f"{lost}; {verdict.reason}"))


def _all(subject: Subject, traced: Traced, policy: Policy, untested: str) -> Gradients:
    cotangents = [f"cotangent of {subject.comparison.outputs[i]}" for i in subject.comparison.inexact]
    asked = functools.partial(judge, subject, policy=policy, untested=untested)
    rule = functools.partial(asked, more=cotangents, cotangents=len(cotangents))
    ruled = any(map(has_derivative_rules, (subject.original.forward, traced.forward)))
    before, after = (each.training if ruled else each.gradient for each in (subject.original, traced))
    assert before is not None and after is not None
    verdict = rule(before, after, functools.partial(compare_gradients, values=ruled), what="gradients")
    if not verdict.good or not ruled:
        return Gradients(verdict)
    found = [("", verdict)]
    found += _along_all(subject, parts(subject), policy, untested)
    found += subject.comparison.once("along", lambda: _told_apart(subject, traced, untested))
    verdict = along("of all leaves", found)
    again = _second(subject, policy, untested) if verdict.good else None
    if again is None:
        return Gradients(verdict)
    verdict, note = first_unless_failed([("", verdict), ("second derivatives: ", again)])
    return Gradients(verdict, notes=(note,) if note else ())


def _told_apart(subject: Subject, traced: Traced, untested: str) -> list[tuple[str, Verdict]]:
    """Return the verdicts along directions that derivative rules distinguish, once for all policies."""
    found, left_out = directions(subject, traced.forward)
    shown = _along_all(subject, found, None, untested)
    if left_out:
        text = f"proved along {len(found)} sets of leaves and outputs; derivative rules that read zeros tell more apart"
        shown.append(("", Verdict(Status.TESTED, text)))
    return shown


def _along_all(
    subject: Subject, found: Sequence[Direction], policy: Policy, untested: str
) -> list[tuple[str, Verdict]]:
    """Return the verdict in each direction in which the original has gradients."""
    judged = [(f"{each.words}: ", _along(subject, each, policy, untested)) for each in found]
    return [(words, verdict) for words, verdict in judged if verdict is not None]


def _along(subject: Subject, direction: Direction, policy: Policy, untested: str) -> Verdict | None:
    """Return the verdict on the gradients in a direction; None if the original has none."""
    both = _both(subject, Job("gradient", leaves=direction.leaves, used=direction.used), policy)
    if both is None or isinstance(both, Verdict):
        return both
    used = subject.comparison.inexact if direction.used is None else direction.used
    cotangents = [f"cotangent of {subject.comparison.outputs[i]}" for i in used]
    test = functools.partial(compare_gradients, only=direction.leaves, used=direction.used)
    what, count = f"gradients {direction.words}", len(cotangents)
    asked = functools.partial(judge, subject, *both, test, more=cotangents, cotangents=count, what=what)
    return asked(policy=policy, untested=untested)


def second_derivatives(subject: Subject, untested: str) -> Once:
    """Return the verdict on Hessian-vector products, of all inexact leaves along all of them and the cotangents."""
    if subject.original.gradient is None:
        return Once(None, f"no second derivatives, as the original raises {subject.original.raised}")
    found = _second(subject, None, untested)
    return Once(found, "" if found is not None else "no second derivatives: the original has none")


def _second(subject: Subject, policy: Policy, untested: str) -> Verdict | None:
    both = _both(subject, Job("second"), policy)
    if both is None or isinstance(both, Verdict):
        return both
    cotangents = [f"cotangent of {subject.comparison.outputs[i]}" for i in subject.comparison.inexact]
    moved = [subject.both.found.names[i] for i in differentiated(subject.both.avals)]
    more = [*cotangents, *(f"tangent of {name}" for name in (*moved, *cotangents))]
    what, asked = "second derivatives", functools.partial(judge, subject, *both, compare_second)
    return asked(more=more, policy=policy, untested=untested, cotangents=len(more), what=what)


def _both(subject: Subject, job: Job, policy: Policy) -> tuple[ClosedJaxpr, ClosedJaxpr] | Verdict | None:
    """Return both programs; None if the original has none, FAILED if only the rewritten version has none."""
    try:
        before = subject.original_program(job)
    except Exception:  # the rewritten version need not support what the original does not
        return None
    try:
        return before, subject.rewritten_program(dataclasses.replace(job, policy=policy_of(policy)))
    except Exception as error:
        text = f"the rewritten version cannot be differentiated like the original: {subject.said(error)}"
        return Verdict(Status.FAILED, text)
