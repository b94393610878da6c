"""What the server asks for, and what is answered."""

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
    """A file as an editor holds it. Of a notebook `cells` are its Python cells, by their numbers among all of them."""

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
    """Ask for all findings of the open files of one project, as `scanify check` would have them."""

    root: Path
    opened: tuple[Open, ...]


@dataclass(frozen=True)
class Quick:
    """Ask for the findings of the statements of one file that touch some lines (from 1), known from this file and what
    it imports alone."""

    root: Path
    opened: Open
    lines: tuple[int, int]


@dataclass(frozen=True)
class Rewrite:
    """Ask what a rewrite of the loop at a place would change."""

    root: Path
    opened: tuple[Open, ...]
    path: Path
    line: int
    column: int
    cell: int | None
    target: str


@dataclass(frozen=True)
class Answer:
    """The findings by file. `lines`: the statements looked at, first and last line, where not all were; None where the
    text cannot be parsed as it stands."""

    findings: Mapping[Path, tuple[Finding, ...]]
    lines: tuple[int, int] | None = None


@dataclass(frozen=True)
class Rewritten:
    """The texts `(before, after)` of the files that a rewrite changes; or why there is none."""

    texts: Mapping[Path, tuple[str, str]] = field(default_factory=dict)
    why_not: str = ""


Job = Whole | Quick | Rewrite
