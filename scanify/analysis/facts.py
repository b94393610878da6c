"""Places in the source, as frozen dataclasses that print and pickle."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Span:
    """A stretch of one file's decoded text: `text[start:end]`, with the lines it covers (from 1)."""

    start: int
    end: int
    line: int
    end_line: int


@dataclass(frozen=True)
class Cell:
    """Lines of a notebook cell. `number` counts all cells from 1, text cells included; lines count from 1 per cell."""

    number: int
    line: int
    end_line: int


@dataclass(frozen=True)
class Place:
    """A span in a named file. The text of a notebook joins its code cells; `cell` is the one that holds the span."""

    path: Path
    span: Span
    cell: Cell | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    def overlaps(self, other: "Place") -> bool:
        """True if two places share text."""
        mine, span = self.span, other.span
        return self.path == other.path and mine.start < span.end and span.start < mine.end

    @property
    def line(self) -> str:
        """The line as written after the file name: `12`, or in a notebook `cell 3:12`."""
        return f"{self.span.line}" if self.cell is None else f"cell {self.cell.number}:{self.cell.line}"

    @property
    def named(self) -> str:
        """The line in a sentence about the file: `line 12`, or in a notebook `cell 3:12`."""
        return f"line {self.line}" if self.cell is None else self.line


@dataclass(frozen=True, order=True)
class Replacement:
    """A stretch of a file's decoded text, `text[start:end]`, and its replacement in a rewritten loop."""

    start: int
    end: int
    text: str
