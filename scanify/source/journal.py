"""What is being written, noted so that a run which comes after one that was killed can finish it or clear it away.

The journal is one file, locked as long as its process lives, with a line for each file that is to change, and a last
one once all new contents are prepared.
"""

import contextlib
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scanify.source.lock import locked, try_lock
from scanify.source.put import put

_NAME = ".scanify-{}.journal"
_READY = "ready"
# Seconds after which a journal is taken for that of a dead run where there are no locks to tell.
_OLD = 60


@dataclass(frozen=True)
class Noted:
    """One file that is to change, where its new content is prepared, and the digests of both contents."""

    target: Path
    temporary: Path
    before: str
    after: str


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


class Journal:
    """The journal of one run. Where it cannot be written there is none: the files are written all the same."""

    def __init__(self, path: Path, run: str) -> None:
        self._path = path
        self._run = run
        self._handle: int | None = None

    @classmethod
    def at(cls, folder: Path) -> "Journal":
        run = uuid.uuid4().hex[:12]
        return cls(folder / _NAME.format(run), run)

    def temporary_name(self, name: str, number: int) -> str:
        """The name under which the new content of a file is prepared; short, as names are at most so long."""
        return f".{name[:100]}.{self._run}-{number}.scanify"

    def begin(self, files: Iterable[Noted]) -> None:
        lines = [[str(each.target), str(each.temporary), each.before, each.after] for each in files]
        with contextlib.suppress(OSError):
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try_lock(self._handle)
            self._add("".join(f"{json.dumps(line)}\n" for line in lines))

    def ready(self) -> None:
        self._add(f"{json.dumps(_READY)}\n")

    def _add(self, text: str) -> None:
        if self._handle is not None:
            os.write(self._handle, text.encode())
            os.fsync(self._handle)

    def end(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._handle)
            self._handle = None


def finish_earlier(root: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Finish what killed runs were writing below `root`, and take away what they had prepared.

    Answers the files that were given their new content now, and those that were left alone because they hold neither
    the old content nor the new one.
    """
    written: list[Path] = []
    left: list[Path] = []
    for path in sorted(root.glob(_NAME.format("*"))):
        with _taken(path) as lines:
            if lines is None:
                continue
            noted = [Noted(Path(line[0]), Path(line[1]), line[2], line[3]) for line in lines if isinstance(line, list)]
            with locked({each.target.parent for each in noted if each.target.parent.is_dir()}):
                if _READY in lines:
                    _finish(noted, written, left)
                for each in noted:
                    each.temporary.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
    return tuple(written), tuple(left)


def _finish(noted: Iterable[Noted], written: list[Path], left: list[Path]) -> None:
    for each in noted:
        now = each.target.read_bytes() if each.target.is_file() else None
        if now is not None and digest(now) == each.after:
            continue
        new = each.temporary.read_bytes() if each.temporary.is_file() else None
        whole = new is not None and digest(new) == each.after
        # A file that was being written in its place holds the beginning of what it was to hold.
        mine = now is not None and (digest(now) == each.before or (new is not None and new.startswith(now)))
        if new is not None and whole and mine:
            put(each.temporary, each.target, new)
            written.append(each.target)
        else:
            left.append(each.target)


@contextlib.contextmanager
def _taken(path: Path) -> Iterator[list[object] | None]:
    """The lines of a journal whose run is dead; None for that of a living one."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        alive = not try_lock(handle) or (os.name == "nt" and time.time() - path.stat().st_mtime < _OLD)
        yield None if alive or not path.exists() else list(_lines(path.read_text(encoding="utf-8", errors="replace")))
    finally:
        os.close(handle)


def _lines(text: str) -> Iterator[object]:
    """The lines that are whole: the last one may not have been written to its end."""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)
