"""Rewriting on evidence: loops covered by a case or a recorded call are rewritten, and the others are held back."""

import os
from collections.abc import Callable, Container, Iterable, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.obligation import ELSEWHERE
from scanify.analysis.plan import Framework, Plan
from scanify.commands.common import Given, analysing
from scanify.commands.recorded.reached import runs_of
from scanify.commands.verifying.cases import one_file, verifiable, with_held_back
from scanify.commands.verifying.options import CaseRun
from scanify.errors import CaseFailed
from scanify.pipeline import HeldBack, Outcome, Project, files_of, rewrite_sources, with_policy
from scanify.report.sentences import plural
from scanify.source.notebook.text import is_notebook
from scanify.verify.depth import FEWEST
from scanify.verify.unscanned import NOTHING_SCANNED
from scanify.verify.verdict import Status

if TYPE_CHECKING:
    from scanify.verify.verdict import CaseResult, LoopRun, Verification

Accept = Callable[[Plan], bool]
_DEEPER = "record a run that calls it with three layers or more, or take it with --unsafe"
_UNREACHED = HeldBack("no call of it was recorded", _DEEPER, finding=False)
_PRINTED = 12  # lines of a command's output shown in an error
_KEEP = "keep the loop: no two of its layers share a program"


def by_recorded_calls(
    rewrite: Callable[[Accept], Outcome],
    verify: Callable[[Outcome], "Verification"],
    accepted: Set[str],
) -> "tuple[Outcome, Verification | None]":
    """Rewrite all candidates in memory, and verify; if calls show only some of them, rewrite and verify those alone.

    Safe loops that no call reaches are rewritten too. Loops whose layers the source leaves open become a `BlockSeq`,
    even if the layers are alike in this run, since another configuration may differ. Raises CaseFailed if no call can
    be compared.
    """
    held: dict[Place, HeldBack] = {}
    compared: set[Place] = set()
    shown: frozenset[Place] = frozenset()
    verified = None
    while True:
        outcome = rewrite(partial(_takes, accepted, held))
        places = {plan.place for plan in outcome.applied}
        if not verifiable(outcome) or (verified is not None and not places - compared and not places & shown):
            break
        verified = verify(outcome)
        _demand_compared(verified)
        if failed(verified):
            return outcome, verified
        shown = _shown(outcome, verified)
        compared |= places
        more = _held(outcome, verified, shown, accepted)
        if not more:
            break
        held |= more
    outcome = _with_reasons(outcome, held, accepted)
    return outcome, None if verified is None else with_held_back(verified, outcome)


def _takes(accepted: Set[str], held: Container[Place], plan: Plan) -> bool:
    return plan.place not in held and (not plan.left(accepted) or not plan.beyond_cases(accepted))


def _demand_compared(verified: "Verification") -> None:
    """Raise CaseFailed if no call can be compared."""
    errors = [case.error for case in verified.cases if case.error is not None]
    if len(errors) == len(verified.cases):
        printed = [f"  | {line}" for case in verified.cases for line in case.output.strip().splitlines()[-_PRINTED:]]
        said = [*dict.fromkeys(errors), *(["it printed:", *printed] if printed else [])]
        raise CaseFailed("\n".join(["no file was changed, as no call could be compared", *said]))


def _shown(outcome: Outcome, verified: "Verification") -> frozenset[Place]:
    """Return the loops that a good call runs for two iterations or more."""
    return _places(outcome, (run for case in verified.cases if _shows(case) for run in case.loops), iterations=2)


def _with_reasons(outcome: Outcome, held: dict[Place, HeldBack], accepted: Set[str]) -> Outcome:
    """Add to the outcome the loops held back by recorded calls, and the loops that no call can show."""
    beyond = tuple(plan for plan in outcome.held if plan.place not in held and plan.beyond_cases(accepted))
    return replace(outcome, short=held, beyond_cases=beyond)


def shown_by_cases(
    plans: Iterable[Plan], project: Project, run: CaseRun
) -> tuple[frozenset[Place], dict[Place, HeldBack]]:
    """Return the loops that written cases run, and separately, with reasons, the loops whose layers all differ.

    Raises CaseFailed if a case cannot be run, since the loops it reaches are then unknown.
    """
    plans = [plan for plan in plans if not any(map(is_notebook, files_of(plan)))]
    if not plans:
        return frozenset(), {}
    target = one_file({plan.place.path for plan in plans}, project)
    places = {plan.place: _watched(plan) for plan in plans}
    cases = runs_of([*places.values()], project, run.cases, run.limits, abstract=run.abstract, target=target)
    for case in cases:
        if case.error is not None:
            raise CaseFailed(f"a case could not be run, and no file was changed\n{case.error}")
    lines = {_line(run) for case in cases for run in case.loops if run.iterations}
    held = {plan.place: each for plan in plans if (each := _unlike(plan, cases)) is not None}
    return frozenset(place for place, watched in places.items() if _has_line(watched, lines)) - held.keys(), held


def _watched(plan: Plan) -> Place:
    """Return the place where a loop runs: the call that iterates over the layers, not the list it iterates over."""
    place, body = plan.place, plan.body.span
    return place if place.span.line <= body.line <= place.span.end_line else replace(place, span=body)


def undecided_plans(outcome: Outcome) -> list[Plan]:
    """Return the plans for loops whose layers the source leaves open."""
    return [refusal.undecided for refusal in outcome.refused if refusal.undecided is not None]


def rewritten_where(
    given: Given, policy: str | None, run: CaseRun | None, accept: Accept, undecided: Set[Place] = frozenset()
) -> Outcome:
    """Rewrite the accepted loops in memory.

    Recorded calls may decide all loops whose layers the source leaves open; otherwise only the `undecided` ones.
    """
    with analysing(given):
        outcome = rewrite_sources(
            given.project,
            stack=given.stack,
            remat=policy,
            accept=accept,
            target=given.target,
            wanted=given.config.wants,
            keep_lists=run is not None and ELSEWHERE not in given.accepted,
            undecided=lambda place: place in undecided or (run is not None and run.recorded),
        )
    return outcome if policy is None or not given.changes_policies else with_policy(outcome, given.project, policy)


def failed(verified: "Verification") -> bool:
    """True if a recorded call shows that the rewrite is wrong."""

    def is_wrong(case: "CaseResult") -> bool:
        verdicts = [case.parameters, *case.once, *(v for p in case.policies for v in (p.outputs, p.gradients))]
        findings = [each for each in case.findings if not each.startswith(NOTHING_SCANNED)]
        return bool(findings) or any(each is not None and each.status is Status.FAILED for each in verdicts)

    return any(map(is_wrong, verified.cases))


def _held(outcome: Outcome, verified: "Verification", shown: Set[Place], accepted: Set[str]) -> dict[Place, HeldBack]:
    """Return the loops to hold back, because no good call shows them or all of their layers differ."""
    held = {}
    for plan in outcome.applied:
        unlike, doubt = _unlike(plan, verified.cases), _doubt(plan, verified)
        if unlike is not None:
            held[plan.place] = unlike
        elif plan.place not in shown and (few := _few(plan, verified)):
            held[plan.place] = HeldBack(few, _DEEPER)
        elif plan.place not in shown and doubt:
            held[plan.place] = HeldBack(f"the recorded call does not show it: {doubt}", _DEEPER)
        elif plan.place not in shown and plan.left(accepted):
            held[plan.place] = _UNREACHED
    return held


def _few(plan: Plan, verified: "Verification") -> str:
    """Explain that every call runs too few iterations of a loop for a scan; "" if some call runs enough."""
    found: list[LoopRun] = []
    for case in verified.cases:
        runs = [run for run in _runs(plan, case) if run.iterations is not None]
        unscanned = any(each.startswith(NOTHING_SCANNED) for each in case.findings)
        if any(run.iterations != 1 and not unscanned for run in runs):
            return ""
        found += runs
    longest = max(found, key=lambda run: run.iterations or 0, default=None)
    if longest is None:
        return ""
    layers = f": `{longest.layers.name}` has {longest.layers.text}" if longest.layers is not None else ""
    count = longest.iterations or 0
    why = "too few for a scan" if count <= FEWEST else "but scans nothing"
    return f"the run has {plural(count, 'iteration')} of it, {why}{layers}"


def _doubt(plan: Plan, verified: "Verification") -> str:
    """Return the reason why a call that runs a loop does not show it; "" if every call shows it or none runs it."""
    for case in verified.cases:
        if not case.good and any(_has_line(plan.place, {_line(run)}) for run in _reached(case)):
            verdicts = [*case.once, case.parameters, *(v for p in case.policies for v in (p.outputs, p.gradients))]
            reasons = [each.reason for each in verdicts if each is not None and not each.good]
            return next(iter([*([case.error] if case.error else []), *case.findings, *reasons]), "it is not proved")
    return ""


def _unlike(plan: Plan, cases: "Sequence[CaseResult]") -> HeldBack | None:
    """Hold a loop back if its layers all have different kinds in every call; else None.

    A scan over Flax NNX modules requires layers of a single kind.
    """
    seen = [run.layers for case in cases for run in _runs(plan, case) if run.layers is not None]
    most = 1 if plan.framework is Framework.NNX else None
    if not seen or not all(each.kinds > 1 and each.kinds >= (most or each.count) for each in seen):
        return None
    which = "no two" if most is None else "not all"
    return HeldBack(f"of its layers {which} are alike in the run: {seen[0].text}", _KEEP, finding=False)


def _runs(plan: Plan, case: "CaseResult") -> "list[LoopRun]":
    """Return the runs of a plan's loop, without runs of loops in its body."""
    inside = [run for run in case.loops if _has_line(plan.place, {_line(run)})]
    first = min((run.line for run in inside), default=0)
    return [run for run in inside if run.line == first]


def _reached(case: "CaseResult") -> "Iterable[LoopRun]":
    return case.loops if case.error is not None else (run for run in case.loops if run.iterations is not None)


def _places(outcome: Outcome, runs: "Iterable[LoopRun]", *, iterations: int = 0) -> frozenset[Place]:
    """Return the places of the plans whose loops had at least `iterations` iterations in these runs."""
    lines = {_line(run) for run in runs if (run.iterations or 0) >= iterations}
    return frozenset(plan.place for plan in outcome.applied if _has_line(plan.place, lines))


def _line(run: "LoopRun") -> tuple[str, int]:
    return os.path.realpath(run.file), run.line


def _has_line(place: Place, lines: Set[tuple[str, int]]) -> bool:
    path, span = os.path.realpath(place.path), place.span
    return any(file == path and span.line <= line <= span.end_line for file, line in lines)


def _shows(case: "CaseResult") -> bool:
    """True if a call is good apart from loops with too few iterations, which are held back."""
    return replace(case, depth=None).good
