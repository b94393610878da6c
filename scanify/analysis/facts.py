"""What the source says, and nothing more: frozen, without opinions, without libcst types: it prints and pickles."""

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
class Place:
    """A span in a named file."""

    path: Path
    span: Span

    def __str__(self) -> str:
        return f"{self.path}:{self.span.line}"


@dataclass(frozen=True, order=True)
class Replacement:
    """A stretch of a file's decoded text, `text[start:end]`, and what stands there in a rewritten loop."""

    start: int
    end: int
    text: str
