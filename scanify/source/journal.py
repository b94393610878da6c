"""A journal of files being written, so that the next run can complete or clean up after a killed one.

The journal is one file, locked while its process lives, with a line for each file to change, and a final line once all
new contents are prepared.
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
# Without locks, a journal older than this many seconds is considered to belong to a dead run.
_OLD = 60


@dataclass(frozen=True)
class Noted:
    """A file to change, the temporary file with its new content, and the digests of both contents."""

    target: Path
    temporary: Path
    before: str
    after: str


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()


class Journal:
    """The journal of one run. If it cannot be written, the files are still written, without a journal."""

    def __init__(self, path: Path, run: str) -> None:
        self._path = path
        self._run = run
        self._handle: int | None = None

    @classmethod
    def at(cls, folder: Path) -> "Journal":
        run = uuid.uuid4().hex[:12]
        return cls(folder / _NAME.format(run), run)

    def temporary_name(self, name: str, number: int) -> str:
        """Return the name of a temporary file, truncated because file systems limit the length of names."""
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
    """Complete the writes of killed runs below `root`, and remove their temporary files.

    Return the files that received their new content now, and the files left alone because they hold neither the old nor
    the new content.
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
        # A write in place that was interrupted leaves a prefix of the new content.
        mine = now is not None and (digest(now) == each.before or (new is not None and new.startswith(now)))
        if new is not None and whole and mine:
            put(each.temporary, each.target, new)
            written.append(each.target)
        else:
            left.append(each.target)


@contextlib.contextmanager
def _taken(path: Path) -> Iterator[list[object] | None]:
    """Yield the lines of a journal if its run is dead, otherwise None."""
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
    """Parse the complete lines; the last line may be truncated."""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)
