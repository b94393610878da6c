"""The jobs of the server's worker processes, and their answers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scanify.report.findings.finding import Finding
from scanify.source.file import Source
from scanify.source.notebook.text import joined

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Open:
    """The contents of a file in an editor. For a notebook, `cells` holds the Python cells by their overall numbers."""

    path: Path
    text: str = ""
    cells: tuple[tuple[int, str], ...] | None = None

    @property
    def source(self) -> Source:
        text = self.text if self.cells is None else joined(self.cells)
        first = _LINE_END.search(text)
        return Source(self.path, text, newline=first.group() if first else "\n")


@dataclass(frozen=True)
class Whole:
    """Request all findings of the open files of one project, as `scanify check` would report them."""

    root: Path
    opened: tuple[Open, ...]


@dataclass(frozen=True)
class Quick:
    """Request the findings of the statements of one file that overlap some lines (from 1).

    They are based on this file and its imports only.
    """

    root: Path
    opened: Open
    lines: tuple[int, int]


@dataclass(frozen=True)
class Rewrite:
    """Request the changes of a rewrite of the loop at a place."""

    root: Path
    opened: tuple[Open, ...]
    path: Path
    line: int
    column: int
    cell: int | None
    target: str


@dataclass(frozen=True)
class Answer:
    """The findings by file.

    `lines` is the first and last line of the analysed statements if these are not all; None if the text cannot be
    parsed.
    """

    findings: Mapping[Path, tuple[Finding, ...]]
    lines: tuple[int, int] | None = None


@dataclass(frozen=True)
class Rewritten:
    """The texts `(before, after)` of the files that a rewrite changes, or the reason why there is no rewrite."""

    texts: Mapping[Path, tuple[str, str]] = field(default_factory=dict)
    why_not: str = ""


Job = Whole | Quick | Rewrite
