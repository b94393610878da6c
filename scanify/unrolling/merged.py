"""Merge two changes of a text, line by line."""

import difflib
from itertools import pairwise

_Hunk = tuple[int, int, list[str]]


def merged(base: str, first: str, second: str) -> str | None:
    """Merge the changes of `base` to `first` and to `second`; None if both change the same lines."""
    if base == first:
        return second
    lines = base.splitlines(keepends=True)
    hunks = sorted([*_hunks(lines, first), *_hunks(lines, second)], key=lambda hunk: hunk[:2])
    for (_, end, _), (start, _, _) in pairwise(hunks):
        if start <= end:
            return None
    made, at = [], 0
    for start, end, new in hunks:
        made += [*lines[at:start], *new]
        at = end
    return "".join([*made, *lines[at:]])


def _hunks(lines: list[str], other: str) -> list[_Hunk]:
    """Return the hunks that change some lines to another text."""
    theirs = other.splitlines(keepends=True)
    found = difflib.SequenceMatcher(None, lines, theirs, autojunk=False).get_opcodes()
    return [(start, end, theirs[begin:stop]) for tag, start, end, begin, stop in found if tag != "equal"]
