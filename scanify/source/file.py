"""One source file as text that can be written back byte for byte."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A file's decoded text and what is needed to encode it again.

    `text` has the newlines of the file (nothing is translated). `encoding` is what the coding line or the byte order
    mark says, utf-8 otherwise; `bom` whether the file starts with a UTF-8 byte order mark (not part of `text`).
    `newline` is the style of the first line end, "\\n" where there is none. Of a notebook `document` is its JSON, and
    `text` the Python of its code cells (`notebook.text`).
    """

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    newline: str = "\n"
    document: str | None = None
