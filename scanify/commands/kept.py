"""Cached reports of `check`, keyed by the contents of every project file that the report depends on.

An entry holds only printed output, never text to be written: a rewrite always repeats the analysis.
"""

import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scanify.analysis.plan import Skipped
from scanify.cache_folder import cache_folder, write_entry
from scanify.commands.common import Given
from scanify.source.file import Source
from scanify.source.read import read

FORMAT = 1
_ENTRIES = 64
_FOLDER = "check"


@dataclass(frozen=True)
class Report:
    """The output of `check`, and its exit code."""

    text: str
    code: int


@dataclass(frozen=True)
class Kept:
    """The cache entry for one report, in the cache at `top`."""

    top: Path
    given: Given
    form: str

    @classmethod
    def of(cls, given: Given, form: str) -> "Kept | None":
        """Return the entry for a report, or None for standard input or without a cache."""
        top = cache_folder(given.config.root)
        return cls(top, given, form) if top is not None and given.stdin is None else None

    @cached_property
    def _file(self) -> Path:
        given, project = self.given, self.given.project
        state = hashlib.blake2b(digest_size=20)
        for part in (FORMAT, sys.version, _own_state(), self.form, given.stack, Path.cwd(), project.root):
            state.update(f"{part}\0".encode())
        for sources in (project.sources, project.others):
            for source in sources:
                state.update(f"{source.path}\0{_digest(source)}\0".encode(errors="surrogateescape"))
            state.update(b"\1")
        for skipped in project.skipped:
            state.update(f"{skipped.path}\0{skipped.reason}\0".encode(errors="surrogateescape"))
        return self.top / _FOLDER / f"{state.hexdigest()}.json"

    def lookup(self) -> Report | None:
        """Return the cached report if the other files that were read for it are unchanged."""
        if not (self.top / _FOLDER).is_dir():
            return None  # nothing is cached yet, so the other files need not be read for the key
        try:
            entry = json.loads(self._file.read_text(encoding="utf-8"))
            if any(_found(Path(path)) != digest for path, digest in entry["read"]):
                return None
            return Report(str(entry["text"]), int(entry["code"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, report: Report) -> None:
        """Cache a new report."""
        looked_for = self.given.project.looked_for()
        others = [(str(path), _digest(source) if source is not None else None) for path, source in looked_for]
        entry = {"read": others, "text": report.text, "code": report.code}
        write_entry(self._file.parent, self.top, self._file.name, json.dumps(entry), _ENTRIES)


def _digest(source: Source) -> str:
    return hashlib.blake2b(source.text.encode(errors="surrogatepass"), digest_size=20).hexdigest()


def _found(path: Path) -> str | None:
    source = read(path) if path.is_file() else None
    return _digest(source) if source is not None and not isinstance(source, Skipped) else None


def _own_state() -> str:
    """Hash scanify's own files, since another version may give another report."""
    top = Path(__file__).resolve().parents[1]
    files = sorted((str(file), (status := file.stat()).st_mtime_ns, status.st_size) for file in top.rglob("*.py"))
    return hashlib.blake2b(repr(files).encode(), digest_size=20).hexdigest()
