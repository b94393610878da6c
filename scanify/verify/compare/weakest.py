"""Combine verdicts on several parts of one question."""

from collections.abc import Sequence
from dataclasses import replace

from scanify.verify.verdict import Status, Verdict

_ORDER = (Status.FAILED, Status.NOT_RUN, Status.TESTED, Status.PROVED)


def weakest(found: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Return the weakest verdict, with its words in front of its reason; the first of equal ones."""
    words, verdict = min(found, key=lambda each: _ORDER.index(each[1].status))
    return replace(verdict, reason=f"{words}{verdict.reason}") if verdict.reason else verdict


def first_unless_failed(found: Sequence[tuple[str, Verdict]]) -> tuple[Verdict, str]:
    """Return the first verdict, or one that FAILED; and a description of others that are not proved."""
    failed = [each for each in found if each[1].status is Status.FAILED]
    if failed:
        return weakest(failed), ""
    left = {words.rstrip(": "): each.status for words, each in found[1:] if each.status is not Status.PROVED}
    tested = ", only tested" if set(left.values()) == {Status.TESTED} else ""
    return found[0][1], f"not proved{tested}: {', '.join(left)}" if left else ""


def along(whole: str, found: Sequence[tuple[str, Verdict]]) -> Verdict:
    """Return the weakest of several verdicts, the first of which is on the `whole`; a proof lists the others."""
    verdict, words = weakest(found), [words.rstrip(": ") for words, _ in found[1:]]
    if verdict.status is not Status.PROVED or verdict.reason or not words:
        return verdict
    more = f" and {len(words) - 3} more" if len(words) > 4 else ""
    return replace(verdict, reason=f"{whole}, and {', '.join(words[:3] if more else words)}{more}")
