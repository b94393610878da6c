"""A source file as text that can be written back byte for byte."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """The decoded text of a file, with the data needed to encode it again.

    `text` keeps the newlines of the file. `encoding` comes from the coding line or the byte order mark, by default
    utf-8; `bom` is true if the file starts with a UTF-8 byte order mark (not part of `text`). `newline` is the style of
    the first line end, or "\\n" without any. For a notebook, `document` is its JSON, and `text` the Python of its code
    cells (`notebook.text`).
    """

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    document: str | None = None
