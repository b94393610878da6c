"""Parse the JSON of a notebook together with the positions of cell sources, so that only these need to change."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import JSONDecodeError
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODE = json.JSONDecoder(strict=True).raw_decode
_FORMAT = 4


class NotRead(Exception):
    """Raised for a file that is not a Python notebook. `fails` is true if the file is invalid."""

    def __init__(self, reason: str, *, fails: bool = True) -> None:
        super().__init__(reason)
        self.fails = fails


@dataclass(frozen=True)
class RawCell:
    """A code cell. `number` counts all cells from 1, including Markdown cells.

    `span` is the range of its source in the JSON, `strings` are the ranges of the strings in it, including quotes;
    `text` is their joined value. `listed` is true if the source is a list of lines and not one string.
    """

    number: int
    text: str
    span: tuple[int, int]
    strings: tuple[tuple[int, int], ...]
    listed: bool


def read_cells(document: str) -> tuple[RawCell, ...]:
    """Return the Python cells of a notebook. Raises NotRead if it is invalid or has another language or format."""
    try:
        top = dict(_object(document, _skipped(document, 0), whole=True))
        _demand_format({key: value for key, (value, _) in top.items()})
        start = top["cells"][1][0]
        return tuple(_cells(document, start))
    except JSONDecodeError as error:
        raise NotRead(f"is not valid JSON, on line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise NotRead("is nested too deeply to be read") from None


def _demand_format(top: dict[str, Any]) -> None:
    version = top.get("nbformat")
    if not isinstance(version, int):
        raise NotRead("is no notebook: it does not say its format (`nbformat`)")
    if version < _FORMAT:
        how = "`jupyter nbconvert --to notebook --nbformat 4` makes a new one"
        raise NotRead(f"is in format {version} of notebooks, of which only {_FORMAT} is read; {how}")
    if version > _FORMAT:
        raise NotRead(f"is in format {version} of notebooks, of which only {_FORMAT} is known")
    if not isinstance(top.get("cells"), list):
        raise NotRead("is no notebook: it has no list of cells (`cells`)")
    language = _language(top.get("metadata"))
    if not language.lower().startswith(("python", "ipython")):
        raise NotRead(f"its cells are {language}, not Python", fails=False)


def _language(metadata: object) -> str:
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        found = metadata.get(table) if isinstance(metadata, dict) else None
        if isinstance(found, dict) and isinstance(found.get(key), str):
            return str(found[key])
    return "python"


def _cells(document: str, start: int) -> Iterator[RawCell]:
    for number, (value, (begin, _)) in enumerate(_array(document, start), start=1):
        if not isinstance(value, dict) or not isinstance(value.get("cell_type"), str):
            raise NotRead(f"is no notebook: cell {number} does not say its type (`cell_type`)")
        if value["cell_type"] != "code" or _other_language(value.get("metadata")):
            continue
        fields = dict(_object(document, begin))
        source, span = fields.get("source", (None, (0, 0)))
        lines = [source] if isinstance(source, str) else source
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise NotRead(f"is no notebook: the `source` of cell {number} is neither a text nor a list of lines")
        listed = isinstance(source, list)
        strings = tuple(place for _, place in _array(document, span[0])) if listed else (span,)
        yield RawCell(number, "".join(lines), span, strings, listed)


def _other_language(metadata: object) -> bool:
    """True if the editor's metadata marks a cell as a language other than Python."""
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = editor.get("languageId") if isinstance(editor, dict) else None
    return isinstance(language, str) and language != "python"


Placed = tuple[Any, tuple[int, int]]


def _object(document: str, at: int, *, whole: bool = False) -> Iterator[tuple[str, Placed]]:
    """Yield the values of the object that starts at `at`, with their positions; if `whole`, nothing may follow it."""
    if document[at : at + 1] != "{":
        raise NotRead("is no notebook: it is no JSON object")
    at = _skipped(document, at + 1)
    while document[at : at + 1] != "}":
        key, at = _DECODE(document, at)
        if not isinstance(key, str):
            raise JSONDecodeError("expected a name in double quotes", document, at)
        value, place = _value(document, _expected(document, at, ":"))
        yield key, (value, place)
        at = _next(document, place[1], "}")
    end = _skipped(document, at + 1)
    if whole and end != len(document):
        raise JSONDecodeError("something follows the notebook", document, end)


def _array(document: str, at: int) -> Iterator[Placed]:
    at = _skipped(document, at + 1)
    while document[at : at + 1] != "]":
        value, place = _value(document, at)
        yield value, place
        at = _next(document, place[1], "]")


def _value(document: str, at: int) -> Placed:
    at = _skipped(document, at)
    value, end = _DECODE(document, at)
    return value, (at, end)


def _next(document: str, at: int, closing: str) -> int:
    """Return the position of the next value or of the closing bracket."""
    at = _skipped(document, at)
    if document[at : at + 1] == closing:
        return at
    at = _expected(document, at, ",")
    if document[at : at + 1] == closing:
        raise JSONDecodeError("a comma with nothing after it", document, at)
    return at


def _expected(document: str, at: int, character: str) -> int:
    at = _skipped(document, at)
    if document[at : at + 1] != character:
        raise JSONDecodeError(f"expected {character!r}", document, at)
    return _skipped(document, at + 1)


def _skipped(document: str, at: int) -> int:
    found = _SPACE.match(document, at)
    assert found is not None
    return found.end()
