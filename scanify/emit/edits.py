"""Edits: stretches of a file's text and their replacements."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Edit:
    """Replace `text[start:end]` of the decoded text of `path` by `new` (an insertion where `start == end`)."""

    path: Path
    start: int
    end: int
    new: str
