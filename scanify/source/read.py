"""Decode bytes to a `Source` and encode them again, byte for byte.

The encoding is detected as Python does (PEP 263): a UTF-8 byte order mark, a coding line among the first two lines, or
else UTF-8. Newlines are not translated.
"""

import codecs
import io
import re
import tokenize
from pathlib import Path

from scanify.analysis.plan import Skipped
from scanify.errors import ScanifyError
from scanify.source.file import Source
from scanify.source.notebook.read import decode_notebook
from scanify.source.notebook.text import is_notebook
from scanify.source.notebook.write import written

_LINE_END = re.compile(r"\r\n|\r|\n")


def read(path: Path) -> Source | Skipped:
    """Read the file at `path`, or return the reason to skip it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return Skipped(path, f"cannot be read: {error.strerror or error}")
    return decode(path, data)


def decode(path: Path, data: bytes) -> Source | Skipped:
    """Decode `data`, or return the reason why it is not text that can be written back unchanged."""
    if is_notebook(path):
        return decode_notebook(path, data)
    bom = data.startswith(codecs.BOM_UTF8)
    content = data.removeprefix(codecs.BOM_UTF8)
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        return Skipped(path, _undetected(data, str(error.msg)))
    encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    try:
        text = content.decode(encoding)
        exact = text.encode(encoding) == content
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(content[: error.start].decode("latin-1"))) + 1
        return Skipped(path, f"line {line} is not {encoding}; {_coding_advice(encoding)}")
    except (UnicodeError, LookupError) as error:
        return Skipped(path, f"cannot be decoded as its coding line says, {encoding}: {error}")
    if not exact:
        return Skipped(path, f"decoded as {encoding}, it cannot be encoded again to the same bytes; save it as UTF-8")
    if "\0" in text:
        return Skipped(path, "holds a null character, so it is not Python source")
    first = _LINE_END.search(text)
    return Source(path, text, encoding, bom, first.group() if first else "\n")


def encode(source: Source, text: str) -> bytes:
    """Encode `text` like `source`, including any byte order mark; for a notebook, as JSON with `text` in its cells.

    Raises ScanifyError if the encoding has no code for a character of `text`.
    """
    if source.document is not None:
        text = source.document if text == source.text else written(source, text)
    try:
        data = text.encode(source.encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise ScanifyError(
            f"{source.path}: its encoding, {source.encoding}, has no code for {character!r}; save the file as UTF-8"
        ) from None
    return codecs.BOM_UTF8 + data if source.bom else data


def _undetected(data: bytes, message: str) -> str:
    """Explain a failed detection: an unknown or contradictory coding line, or invalid UTF-8 without a coding line."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is UTF-16, which Python source cannot be; save it as UTF-8"
    if "invalid or missing encoding declaration" in message:
        return f"line {_bad_line(data)} is not utf-8; {_coding_advice('utf-8')}"
    return f"has a coding line that Python does not accept: {message}"


def _bad_line(data: bytes) -> int:
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            return number
    return 1


def _coding_advice(encoding: str) -> str:
    if encoding == "utf-8":
        return "save it as UTF-8, or name its encoding on the first line, as in `# -*- coding: latin-1 -*-`"
    return "its coding line names the wrong encoding, or the file is damaged"
