"""Applying edits to texts: the one place where a file's text changes."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from scanify.emit.edits import Edit
from scanify.emit.newlines import line_of
from scanify.errors import CheckFailed


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """The edits by place, each once. Edits at one place keep the order they were made in.

    Two loops over one list ask for the same edit where the list is built; that is one edit. Insertions come before
    the replacement that starts where they stand.
    """
    return sorted(dict.fromkeys(edits), key=lambda edit: (edit.path, edit.start, edit.end))


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """One file's text with its edits applied.

    Raises CheckFailed where two edits overlap or where one lies outside of the text: what was meant is not known then.
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


def apply_all(texts: Mapping[Path, str], edits: Iterable[Edit]) -> dict[Path, str]:
    """The texts of the files that the edits change."""
    by_path: dict[Path, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    changed = {path: apply_edits(texts[path], own) for path, own in by_path.items()}
    return {path: text for path, text in changed.items() if text != texts[path]}
