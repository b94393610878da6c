"""Cases on the command line and in the configuration, and verifying a rewrite on them."""

import os
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from scanify.analysis.facts import Place
from scanify.analysis.obligation import ELSEWHERE
from scanify.analysis.plan import Plan, Refusal
from scanify.commands.verifying.options import CaseRun
from scanify.configuration.config import REMATS
from scanify.errors import ScanifyError
from scanify.pipeline import HeldBack, Outcome, Project, Stack, rewrite_sources
from scanify.report.progress import progress
from scanify.report.sentences import plural, shown, unshown, where
from scanify.source.notebook.text import is_notebook
from scanify.verify import verify
from scanify.verify.depth import FEWEST, short_loops
from scanify.verify.unscanned import NOTHING_SCANNED, unscanned_loops

if TYPE_CHECKING:
    from scanify.commands.verifying.by_hand import ByHand
    from scanify.verify.request import Runs
    from scanify.verify.verdict import CaseResult, LoopRun, Verification


def verifiable(outcome: Outcome) -> dict[Path, tuple[bytes, bytes]]:
    """Return the changes that a case can verify, without notebooks, which cannot be imported."""
    return {path: change for path, change in outcome.changes.items() if not is_notebook(path)}


def demand_importable(path: Path) -> None:
    """Raise ScanifyError for a notebook."""
    if is_notebook(path):
        raise ScanifyError(
            f"{path}: a notebook cannot be imported, so no case can be made for it or verify it; move the model to a "
            "Python file (.py), or rewrite without a case"
        )


def rewrite_for_cases(
    project: Project,
    *,
    stack: Stack | None,
    remat: str | None,
    target: str,
    wanted: Callable[[Plan | Refusal], bool],
    accepted: Collection[str] = (),
    undecided: Set[Place] = frozenset(),
) -> Outcome:
    """Rewrite a project for verification by cases, including unsafe fixes, assuming that they reach every loop.

    Loops at `undecided` places, whose layers the source leaves open, are rewritten too. Obligations about other code
    are avoided by keeping lists as lists. Loops for which that is impossible are held back, unless `accepted` has
    "elsewhere".
    """
    takes_all = ELSEWHERE in accepted
    outcome = rewrite_sources(
        project,
        stack=stack,
        remat=remat,
        accept=lambda plan: takes_all or not plan.elsewhere,
        target=target,
        wanted=wanted,
        keep_lists=not takes_all,
        undecided=undecided.__contains__,
    )
    return replace(outcome, beyond_cases=tuple(plan for plan in outcome.held if plan.elsewhere))


_DEEPER = "give a case whose model has two layers or more here, or take it unverified with --no-verify"
_ALIKE = "give a case that scans it, or take it unverified with --no-verify"


def short_plans(verified: "Verification", plans: Sequence[Plan]) -> dict[Place, HeldBack]:
    """Return the loops that cases run for too few iterations or do not scan, with reasons to hold them back.

    Empty if anything else is wrong, since that has to be fixed first.
    """
    unscanned = unscanned_loops(verified.cases)
    if verified.good or any(not _is_good(case, scans=not unscanned) for case in verified.cases):
        return {}
    found = {}
    for each in (*short_loops(verified.cases), *unscanned):
        held = _held_back(each)
        path = os.path.realpath(each.file)
        for plan in plans:
            span = plan.place.span
            if os.path.realpath(plan.place.path) == path and span.line <= each.line <= span.end_line:
                found[plan.place] = held
    return found


def _is_good(case: "CaseResult", *, scans: bool) -> bool:
    """True if a case is good apart from too few iterations and, unless `scans`, from having scanned nothing."""
    findings = tuple(each for each in case.findings if scans or not each.startswith(NOTHING_SCANNED))
    return replace(case, depth=None, findings=findings).good


def _held_back(run: "LoopRun") -> HeldBack:
    iterations = run.iterations or 0
    if iterations >= FEWEST:
        why = "neighbouring layers differ, or the carry changes its shape"
        return HeldBack(f"a case runs {iterations} iterations of this loop, but scans nothing: {why}", _ALIKE)
    ran = "one iteration" if iterations else "no iteration"
    return HeldBack(f"a case runs {ran} of this loop, which shows nothing of a scan", _DEEPER)


def verify_outcome(
    outcome: Outcome,
    project: Project,
    run: CaseRun,
    *,
    requested: str | None,
    measure: bool,
    policies: Sequence[str | None] = REMATS,
    comparer: str = "scanify.verify.compare.compare:compare_case",
    paced: bool = False,
    **extras: "Unpack[Runs]",
) -> "Verification":
    """Verify the changes of `outcome`, by default under all policies. None means the policy as written."""
    from rich.console import Console

    with progress(Console(stderr=True)) as notify:
        done = verify(
            verifiable(outcome),
            run.cases,
            policies=tuple(dict.fromkeys([*policies, *([requested] if requested else [])])),
            requested=requested,
            abstract=run.abstract,
            measure=measure,
            limits=run.limits,
            target=None if run.recorded else _target(outcome, project),
            notify=notify,
            comparer=comparer,
            cache=run.cache,
            certificates=run.certificates,
            execute=run.execute,
            **extras,
            paced=_paced(run) if paced else "",
        )
    accepted = unshown(outcome.applied, Path.cwd())
    return with_held_back(replace(done, not_shown=f"not shown by a case: {accepted}" if accepted else ""), outcome)


def with_held_back(verified: "Verification", outcome: Outcome) -> "Verification":
    """Add to the verification the loops held back because cases cannot show them or do not show them."""
    held, said = unshown(outcome.beyond_cases, Path.cwd()), []
    if held:
        said.append(f"{plural(len(outcome.beyond_cases), 'loop')} held back: {held} (see --accept)")
    said += [
        f"{where(place, Path.cwd())} held back: {each.why}" for place, each in outcome.short.items() if each.finding
    ]
    left = [f"{where(place, Path.cwd())} ({each.why})" for place, each in outcome.short.items() if not each.finding]
    others = [verified.not_shown] if verified.not_shown else []
    not_shown = "; ".join([*others, *([f"left as loops: {', '.join(left)}"] if left else [])])
    return replace(verified, held_back="; ".join(said), not_shown=not_shown)


def verify_by_hand(
    change: "ByHand",
    run: CaseRun,
    *,
    policies: Sequence[str | None],
    measure: bool,
    comparer: str = "scanify.verify.compare.compare:compare_case",
    paced: bool = False,
    **extras: "Unpack[Runs]",
) -> "Verification":
    """Verify a change made by hand."""
    from rich.console import Console

    with progress(Console(stderr=True)) as notify:
        return verify(
            change.changes,
            run.cases,
            policies=policies,
            requested=None,
            abstract=run.abstract,
            measure=measure,
            limits=run.limits,
            target=change.target,
            rewritten_target=change.rewritten_target,
            data=change.data,
            tree=change.tree,
            cache=run.cache,
            certificates=run.certificates,
            execute=run.execute,
            **extras,
            paced=_paced(run) if paced else "",
            notify=notify,
            comparer=comparer,
        )


def _paced(run: CaseRun) -> str:
    """Choose the cases to time: all if there are several, since each is a separate program; else one that decodes."""
    return "all" if len(run.cases) > 1 else "decoding"


def _target(outcome: Outcome, project: Project) -> Path:
    """Return the file whose module is passed to the cases: the file of the rewritten loops, or else of the changes."""
    return one_file({plan.place.path for plan in outcome.applied} or set(outcome.changes), project)


def one_file(paths: Set[Path], project: Project) -> Path:
    """Return the only file of the project, or the only one of `paths`. Raises ScanifyError if there are several."""
    if len(project.sources) == 1:
        return project.sources[0].path
    files = sorted(path for path in paths if not is_notebook(path))
    if len(files) == 1:
        return files[0]
    names = ", ".join(shown(path, Path.cwd()) for path in files)
    raise ScanifyError(f"a case is given the module of one file, and {len(files)} would change ({names}); name one")
