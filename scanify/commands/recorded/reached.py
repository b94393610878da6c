"""Find the loops that a run reaches, for commands that only check."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scanify.analysis.facts import Place
from scanify.analysis.plan import Plan, Refusal
from scanify.commands.verifying.options import Running, choose_commands
from scanify.errors import CaseFailed
from scanify.pipeline import Project
from scanify.report.findings.finding import Reached
from scanify.report.progress import progress
from scanify.report.sentences import plural
from scanify.report.terminal import tell
from scanify.source.notebook.text import is_notebook
from scanify.source.read import encode
from scanify.source.root import normal
from scanify.verify import verify
from scanify.verify.request import REACHED, Loops

if TYPE_CHECKING:
    from scanify.verify.cases.case import CaseSpec
    from scanify.verify.children.limits import Limits
    from scanify.verify.verdict import CaseResult, LoopRun


def loops_at(places: Iterable[Place]) -> "tuple[Loops, ...]":
    """Return the loops that begin at these places, by file, in the form in which a run watches them."""
    lines: dict[Path, list[int]] = {}
    for place in places:
        lines.setdefault(normal(place.path), []).append(place.span.line)
    return tuple(Loops(path, tuple(some)) for path, some in lines.items())


def reached_by(running: Running, project: Project, loops: Sequence[Plan | Refusal]) -> Reached:
    """Run the commands once on the unchanged source, and return which of the loops they run.

    Raises CaseFailed if a command fails or does not reach the calls of all loops.
    """
    places = [loop.place for loop in loops if not is_notebook(loop.place.path)]
    cases = runs_of(places, project, choose_commands(running.commands), running.limits) if places else ()
    for case in cases:
        if case.error is not None:
            raise CaseFailed(f"which loops the run reaches is not known\n{case.error}")
        for note in case.notes:
            tell(f"scanify: {note}", err=True)
    said = {place: tuple(_words(case, place) for case in cases) for place in places}
    shown = {place for place in places for case in cases if (_iterations(case, place) or 0) > 1}
    return Reached(said, shown)


def runs_of(
    places: Sequence[Place], project: Project, cases: "Sequence[CaseSpec]", limits: "Limits", **more: Any
) -> "tuple[CaseResult, ...]":
    """Run cases or commands on the unchanged source, with the `loops` of the results limited to these places."""
    from rich.console import Console

    sources = [project.source(path) for path in sorted({place.path for place in places})]
    original = {source.path: encode(source, source.text) for source in sources}
    with progress(Console(stderr=True)) as notify:
        done = verify(
            {path: (data, data) for path, data in original.items()},
            cases,
            policies=(None,),
            requested=None,
            measure=False,
            limits=limits,
            notify=notify,
            comparer=REACHED,
            watched=loops_at(places),
            **more,
        )
    return done.cases


def _at(case: "CaseResult", place: Place) -> "Iterator[LoopRun]":
    path = os.path.realpath(place.path)
    return (run for run in case.loops if run.file == path and run.line == place.span.line)


def _iterations(case: "CaseResult", place: Place) -> int | None:
    run = _longest(case, place)
    return None if run is None else run.iterations


def _longest(case: "CaseResult", place: Place) -> "LoopRun | None":
    reached = (run for run in _at(case, place) if run.iterations is not None)
    return max(reached, key=lambda run: run.iterations or 0, default=None)


def _words(case: "CaseResult", place: Place) -> str:
    run = _longest(case, place)
    if run is None:
        why = next((run.why for run in _at(case, place)), "it is a call that walks its layers, which is not watched")
        return f"`{case.case}` does not show it: {why}"
    count = run.iterations or 0
    few = ", which shows nothing of a scan" if count < 2 else ""
    layers = f"; `{run.layers.name}` has {run.layers.text}" if run.layers is not None and run.layers.count > 1 else ""
    return f"`{case.case}` runs {plural(count, 'iteration')} of it{few}{layers}"
