"""Cases that scan nothing, beside others that do: what they call was left a loop, and is as it was."""

from collections.abc import Sequence
from dataclasses import replace

from scanify.verify.verdict import CaseResult

# How the finding begins on a version that has neither a stack of layers nor a scan that the original has not.
NOTHING_SCANNED = "nothing is scanned in the rewritten version"
NO_STACK = f"{NOTHING_SCANNED}: it holds no stack of layers"


def with_loops_that_stay(results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """The results; where a case scans, it is no fault that another one calls a loop that stays, but worth a note.

    Alone, such a case verifies nothing of a rewrite: it calls something else than what was rewritten.
    """
    if not any(_scans(result) for result in results):
        return tuple(results)
    return tuple(_noted(result) for result in results)


def _scans(result: CaseResult) -> bool:
    found = any(finding.startswith(NOTHING_SCANNED) for finding in result.findings)
    return result.error is None and bool(result.policies) and not found


def _noted(result: CaseResult) -> CaseResult:
    stays = tuple(finding for finding in result.findings if finding.startswith(NO_STACK))
    if not stays:
        return result
    findings = tuple(finding for finding in result.findings if finding not in stays)
    return replace(result, findings=findings, notes=(*result.notes, *stays))
