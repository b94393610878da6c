"""Write several files together or not at all, without overwriting concurrent changes.

New contents are written to temporary files next to their targets, noted in a journal, and moved into place one by one.
A file with hard links, or whose owner a new file could not have, is written in place. If a run is interrupted, the next
one completes it from the journal or removes the temporary files.
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
    """One file: its path as named, the resolved path, the temporary file, and both contents."""

    path: Path
    target: Path
    temporary: Path
    before: bytes
    after: bytes


def write_all(changes: Mapping[Path, tuple[bytes, bytes]], root: Path | None = None) -> None:
    """Replace the content of each path, `(expected, new)`. Mode bits, owners, hard and symbolic links are kept.

    The journal is created in `root`, by default next to the first file. Raises ScanifyError if a file is read-only, has
    changed since it was read, or cannot be written. In that case all files have their old content, except those changed
    concurrently, which the message names.
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
    """Restore the old contents. Return the files that were changed concurrently, which are left alone."""
    kept = []
    for each in reversed(replaced):
        try:
            now = each.target.read_bytes()
            # A write in place that was interrupted leaves a prefix of the new content.
            if now != each.before and not each.after.startswith(now):
                kept.append(each.path)
            elif now != each.before:
                _prepare(each.temporary, each.before)
                put(each.temporary, each.target, each.before)
        except OSError:
            kept.append(each.path)
    return kept


def _demand_writable(change: _Change) -> None:
    # Mode bits are checked as well, since the superuser can write every file, and read-only mode is intentional.
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
