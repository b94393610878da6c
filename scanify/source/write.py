"""Write files all together or not at all, and leave what somebody else writes meanwhile as it is.

New contents are prepared beside their files, noted in a journal, and put in their places one after the other. A file
that has other names (hard links), or whose owner a new file could not have, is written in its place. Whoever stops a
run in between, the next one finishes from the journal what was begun, or takes away what was prepared.
"""

import contextlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.source.journal import Journal, Noted, digest
from scanify.source.lock import locked
from scanify.source.put import put


@dataclass(frozen=True)
class _Change:
    """One file: the name it was given by, the file itself, where the new content is prepared, and both contents."""

    path: Path
    target: Path
    temporary: Path
    before: bytes
    after: bytes


def write_all(changes: Mapping[Path, tuple[bytes, bytes]], root: Path | None = None) -> None:
    """Replace the content of each path, `(expected, new)`. Mode bits, owners, hard and symbolic links stay.

    The journal lies in `root`, without one beside the first file. Raises ScanifyError where one of the files is
    read-only, has changed since it was read, or cannot be written: with every file as it was, but for those that
    somebody else has written meanwhile, which it names.
    """
    if not changes:
        return
    journal = Journal.at(root if root is not None else next(iter(changes)).resolve().parent)
    made = [
        _Change(path, target := path.resolve(), target.with_name(journal.temporary_name(path.name, at)), *contents)
        for at, (path, contents) in enumerate(changes.items())
    ]
    with locked({each.target.parent for each in made}):
        _write(made, journal)


def _write(changes: list[_Change], journal: Journal) -> None:
    replaced: list[_Change] = []
    try:
        for each in changes:
            _demand_writable(each)
            _demand_unchanged(each)
        journal.begin([Noted(each.target, each.temporary, digest(each.before), digest(each.after)) for each in changes])
        for each in changes:
            _prepare(each.temporary, each.after)
        journal.ready()
        for each in changes:
            _demand_unchanged(each)
            replaced.append(each)
            put(each.temporary, each.target, each.after)
    except BaseException as error:
        kept = _undone(replaced)
        names = ", ".join(map(str, kept))
        what = (
            f"{names} was written by somebody else meanwhile and stays as it is now" if kept else "no file was changed"
        )
        if isinstance(error, OSError):
            name = error.filename or changes[0].path
            raise ScanifyError(f"{name}: cannot be written: {error.strerror}; {what}") from None
        if kept:
            raise ScanifyError(f"stopped while files were written: {what}; the others are as they were") from error
        raise
    finally:
        for each in changes:
            with contextlib.suppress(OSError):
                each.temporary.unlink()
        journal.end()


def _undone(replaced: list[_Change]) -> list[Path]:
    """Put back what stood in the files; answers those that hold something else by now, which stay as they are."""
    kept = []
    for each in reversed(replaced):
        try:
            now = each.target.read_bytes()
            # A file that was being written in its place holds the beginning of the new content.
            if now != each.before and not each.after.startswith(now):
                kept.append(each.path)
            elif now != each.before:
                _prepare(each.temporary, each.before)
                put(each.temporary, each.target, each.before)
        except OSError:
            kept.append(each.path)
    return kept


def _demand_writable(change: _Change) -> None:
    # The mode bits are asked too, because to the superuser every file is writable, and a read-only file is meant so.
    mode = change.target.stat().st_mode
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(change.target, os.W_OK):
        raise ScanifyError(
            f"{change.path}: is read-only; no file was changed. Make it writable, or look at the change with --diff"
        )


def _demand_unchanged(change: _Change) -> None:
    if change.target.read_bytes() != change.before:
        raise ScanifyError(
            f"{change.path}: changed on disk while scanify was at work; no file was changed. Run it again"
        )


def _prepare(temporary: Path, data: bytes) -> None:
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
