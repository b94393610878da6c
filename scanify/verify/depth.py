"""Check that cases run the removed loops for two iterations or more: fewer are no evidence for a scan.

One key for all layers, a carry that changes its shape, and layers in another order are all right for one layer.
"""

from collections.abc import Sequence
from dataclasses import replace

from scanify.verify.unscanned import NOTHING_SCANNED
from scanify.verify.verdict import CaseResult, LoopRun, Status, Verdict

FEWEST = 2
_DO = "give it a model of two layers or more"


def with_depth(results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Return the results with `depth` if a case is no evidence for a loop that no other case covers either.

    If another case covers it, the result has a note.
    """
    return tuple(_judged(result, results) for result in results)


def short_loops(results: Sequence[CaseResult]) -> tuple[LoopRun, ...]:
    """Return the loops that cases reach, but never for two iterations."""
    found = {run.place: run for result in results for run in result.loops if run.iterations is not None}
    return tuple(run for run in found.values() if _most(run, results) < FEWEST)


def _judged(result: CaseResult, results: Sequence[CaseResult]) -> CaseResult:
    if result.error is not None or not result.policies:
        return result
    reached = [run for run in result.loops if run.iterations is not None]
    few = [run for run in reached if (run.iterations or 0) < FEWEST]
    said = [_words(run) for run in few]
    others = all(_most(run, results) >= FEWEST for run in few)
    if not reached and result.layers == 1:
        said = ["the rewritten version scans over one layer"]
        others = any((each.layers or 0) >= FEWEST for each in results)
    elif result.loops and not reached and not result.layers:
        said = [f"no loop that is rewritten runs in this case: {_listed(result.loops)}"]
        others = any(_most(run, results) >= FEWEST for each in results for run in each.loops)
    if not said:
        return result
    text = "; ".join(said)
    if others:
        return replace(result, notes=(*result.notes, f"{text}; another case shows more"))
    findings = tuple(each for each in result.findings if not each.startswith(NOTHING_SCANNED))  # already reported
    depth = Verdict(Status.NOT_RUN, f"{text}: that shows nothing of a scan; {_DO}")
    return replace(result, depth=depth, findings=findings)


def _most(run: LoopRun, results: Sequence[CaseResult]) -> int:
    good = (each for each in results if each.error is None)
    return max((each.iterations or 0 for result in good for each in result.loops if each.place == run.place), default=0)


def _words(run: LoopRun) -> str:
    ran = "one iteration" if run.iterations else "no iteration"
    return f"the loop at {run.file}:{run.line} (`{run.head}`) runs {ran} in this case"


def _listed(loops: Sequence[LoopRun]) -> str:
    shown = ", ".join(f"{run.file}:{run.line} (`{run.head}`)" for run in loops[:3])
    return f"{shown} and {len(loops) - 3} more" if len(loops) > 3 else shown
