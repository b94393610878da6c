"""The evidence of a run. A rewrite writes loops that a recorded call shows, and holds the others back; a check says
which loops the run reaches."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.plan import Plan, Refusal
from scanify.commands.verifying.cases import verifiable
from scanify.commands.verifying.options import Running, choose_commands
from scanify.errors import CaseFailed
from scanify.pipeline import Outcome, Project
from scanify.report.findings.finding import Reached
from scanify.report.sentences import plural
from scanify.report.terminal import tell
from scanify.source.notebook.text import is_notebook
from scanify.source.read import encode
from scanify.source.root import normal

if TYPE_CHECKING:
    from scanify.verify.request import Loops
    from scanify.verify.verdict import CaseResult, LoopRun, Verification


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


def loops_at(places: Iterable[Place]) -> "tuple[Loops, ...]":
    """Return the loops that begin at these places, by file, as a run is watched for them."""
    from scanify.verify.request import Loops

    lines: dict[Path, list[int]] = {}
    for place in places:
        lines.setdefault(normal(place.path), []).append(place.span.line)
    return tuple(Loops(path, tuple(some)) for path, some in lines.items())


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
        if replace(case, depth=None).good  # what is short is held back
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


def reached_by(running: Running, project: Project, loops: Sequence[Plan | Refusal]) -> Reached:
    """Run the commands once, as the source is, and return which of the loops they run.

    Raises CaseFailed if a command cannot be run to its end or to the calls of all loops.
    """
    places = [loop.place for loop in loops if not is_notebook(loop.place.path)]
    cases = _run(running, project, places) if places else ()
    for case in cases:
        if case.error is not None:
            raise CaseFailed(f"which loops the run reaches is not known\n{case.error}")
        for note in case.notes:
            tell(f"scanify: {note}", err=True)
    said = {place: tuple(_words(case, place) for case in cases) for place in places}
    shown = {place for place in places for case in cases if (_iterations(case, place) or 0) > 1}
    return Reached(said, shown)


def _run(running: Running, project: Project, places: Sequence[Place]) -> "tuple[CaseResult, ...]":
    from rich.console import Console

    from scanify.report.progress import progress
    from scanify.verify.request import REACHED
    from scanify.verify.run import verify

    sources = [project.source(path) for path in sorted({place.path for place in places})]
    original = {source.path: encode(source, source.text) for source in sources}
    with progress(Console(stderr=True)) as notify:
        done = verify(
            {path: (data, data) for path, data in original.items()},
            choose_commands(running.commands),
            policies=(None,),
            requested=None,
            measure=False,
            limits=running.limits,
            notify=notify,
            comparer=REACHED,
            watched=loops_at(places),
        )
    return done.cases


def _at(case: "CaseResult", place: Place) -> "Iterator[LoopRun]":
    path = os.path.realpath(place.path)
    return (run for run in case.loops if run.file == path and run.line == place.span.line)


def _iterations(case: "CaseResult", place: Place) -> int | None:
    counts = [run.iterations for run in _at(case, place) if run.iterations is not None]
    return max(counts, default=None)


def _words(case: "CaseResult", place: Place) -> str:
    count = _iterations(case, place)
    if count is None:
        why = next((run.why for run in _at(case, place)), "it is a call that walks its layers, which is not watched")
        return f"`{case.case}` does not show it: {why}"
    few = ", which shows nothing of a scan" if count == 1 else ""
    return f"`{case.case}` runs {plural(count, 'iteration')} of it{few}"
