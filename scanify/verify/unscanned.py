"""Cases that scan nothing, next to others that do: they call loops that stay unchanged."""

from collections.abc import Sequence
from dataclasses import replace

from scanify.verify.verdict import CaseResult, LoopRun

# The prefix of the finding on a version that has neither a stack of layers nor a scan that the original lacks.
NOTHING_SCANNED = "nothing is scanned in the rewritten version"
NO_STACK = f"{NOTHING_SCANNED}: it holds no stack of layers"


def with_loops_that_stay(results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Replace findings by notes: if one case scans, another one may call a loop that stays.

    Alone, such a case verifies nothing of a rewrite: it calls code that was not rewritten. It also stays a finding if
    the case runs a rewritten loop that no other case scans.
    """
    if not any(_scans(result) for result in results):
        return tuple(results)
    unshown = {run.place for run in unscanned_loops(results)}
    return tuple(result if unshown & _run_loops(result).keys() else _noted(result) for result in results)


def unscanned_loops(results: Sequence[CaseResult]) -> tuple[LoopRun, ...]:
    """Return the rewritten loops that are run only by cases that scan nothing, if another case scans."""
    scanned = {place for result in results if _scans(result) for place in _run_loops(result)}
    if not any(_scans(result) for result in results):
        return ()
    found = {place: run for result in results for place, run in _run_loops(result).items()}
    return tuple(run for place, run in found.items() if place not in scanned)


def _run_loops(result: CaseResult) -> dict[tuple[str, int, str], LoopRun]:
    """Return the loops that a case runs for two iterations or more, by place; none if it could not be run."""
    runs = result.loops if result.error is None else ()
    return {run.place: run for run in runs if (run.iterations or 0) > 1}


def _scans(result: CaseResult) -> bool:
    found = any(finding.startswith(NOTHING_SCANNED) for finding in result.findings)
    return result.error is None and bool(result.policies) and not found


def _noted(result: CaseResult) -> CaseResult:
    stays = tuple(finding for finding in result.findings if finding.startswith(NO_STACK))
    if not stays:
        return result
    findings = tuple(finding for finding in result.findings if finding not in stays)
    return replace(result, findings=findings, notes=(*result.notes, *stays))
