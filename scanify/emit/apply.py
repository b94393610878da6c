"""Apply edits to texts: the one place where a file's text changes."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from scanify.emit.edits import Edit
from scanify.emit.text.newlines import line_of
from scanify.errors import CheckFailed


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """Sort the edits by place, without duplicates. Edits at one place keep their order.

    Two loops over one list make the same edit where the list is built, which is one edit. Insertions come before a
    replacement that starts at the same place.
    """
    return sorted(dict.fromkeys(edits), key=lambda edit: (edit.path, edit.start, edit.end))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Apply the edits of one file to its text.

    Raises CheckFailed if two edits overlap or if one lies outside of the text, since the intended result is unknown.
    """
    ordered = in_order(edits)
    for edit in ordered:
        if not 0 <= edit.start <= edit.end <= len(text):
            raise CheckFailed(
                f"{edit.path}: expected edits inside of the {len(text)} characters of the file, got one at "
                f"{edit.start} to {edit.end}; nothing was written; please report this"
            )
    for first, second in pairwise(ordered):
        if second.start < first.end:
            raise CheckFailed(
                f"{second.path}:{line_of(text, second.start)}: expected edits that do not overlap, got one up to line "
                f"{line_of(text, first.end)} and one from here; nothing was written; please report this"
            )
    pieces: list[str] = []
    done = 0
    for edit in ordered:
        pieces += (text[done : edit.start], edit.new)
        done = edit.end
    return "".join([*pieces, text[done:]])


def new_stretches(edits: Iterable[Edit]) -> list[tuple[int, int]]:
    """Return where the text of each edit lies in the new text, for ordered edits of one file."""
    shift, found = 0, []
    for edit in edits:
        found.append((edit.start + shift, edit.start + shift + len(edit.new)))
        shift += len(edit.new) - (edit.end - edit.start)
    return found


def composed(first: Sequence[Edit], second: Sequence[Edit], between: str) -> list[Edit]:
    """Merge `first`, whose result is `between`, and `second`, which edits `between`, into edits of the old text."""
    stretches = new_stretches(first)
    made: list[Edit] = []
    left = list(zip(first, stretches, strict=True))
    shift = 0  # offset of the following edits from `between` to the old text
    for edit in second:
        inside = []
        while left and left[0][1][0] <= edit.end:
            one, (start, end) = left.pop(0)
            if end < edit.start:
                made.append(one)
            else:
                inside.append((one, start, end))
                continue
            shift += (one.end - one.start) - len(one.new)
        begin, stop = edit.start, edit.end
        first_old, last_old = begin + shift, stop + shift
        for one, start, end in inside:
            shift += (one.end - one.start) - len(one.new)
            begin, stop = min(begin, start), max(stop, end)
        if inside:
            first_old = min(first_old, inside[0][0].start)
            last_old = max(stop + shift, inside[-1][0].end)
        new = between[begin : edit.start] + edit.new + between[edit.end : stop]
        made.append(Edit(edit.path, first_old, last_old, new))
    return [*made, *(one for one, _ in left)]


def apply_all(texts: Mapping[Path, str], edits: Iterable[Edit]) -> dict[Path, str]:
    """Return the texts of the files that the edits change."""
    by_path: dict[Path, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    changed = {path: apply_edits(texts[path], own) for path, own in by_path.items()}
    return {path: text for path, text in changed.items() if text != texts[path]}
