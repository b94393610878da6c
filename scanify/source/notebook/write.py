"""Write the rewritten text of a notebook back into its JSON, changing only the sources of changed cells."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from scanify.errors import CheckFailed
from scanify.source.file import Source
from scanify.source.notebook.magics import MARK, original
from scanify.source.notebook.raw import RawCell, read_cells
from scanify.source.notebook.text import Cells, joined

_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]+")
# A character that is escaped only if the writer emits plain ASCII.
_ESCAPED = re.compile(r"(?<!\\)(?:\\\\)*\\u(?!00[0-7])")


@dataclass(frozen=True)
class _Line:
    """A line of a cell, its spelling in JSON, and its line end, which is empty for the last line."""

    text: str
    raw: str
    end: str


def written(source: Source, text: str) -> str:
    """Return the JSON of the notebook `source` with the cells of `text`.

    Raises CheckFailed if the cells differ in number or order.
    """
    document = source.document
    assert document is not None
    before, after = Cells(source.text), Cells(text)
    _demand_same(source, before, after)
    plain = document.isascii() and _ESCAPED.search(document) is not None
    cells = {cell.number: cell for cell in read_cells(document)}
    pieces, done = [], 0
    for number, old, new in zip(before.numbers, before.readable(), after.readable(), strict=True):
        if old != new:
            cell = cells[number]
            pieces += [document[done : cell.span[0]], _source(document, cell, [original(line) for line in new], plain)]
            done = cell.span[1]
    result = "".join([*pieces, document[done:]])
    again = Cells(joined([(cell.number, cell.text) for cell in read_cells(result)]))
    if (again.numbers, again.readable()) != (after.numbers, after.readable()):
        raise _failed(source, "cells that read as they were written", "others")
    return result


def _demand_same(source: Source, before: Cells, after: Cells) -> None:
    if before.numbers != after.numbers:
        raise _failed(source, "every cell to stay where it is", "cells that were joined or moved")
    for number, old, new in zip(before.numbers, before.readable(), after.readable(), strict=True):
        magics = [Counter(line for line in lines if MARK in line) for lines in (old, new)]
        if magics[0] != magics[1]:
            raise _failed(source, f"the magics of cell {number} to stay", "others")


def _failed(source: Source, expected: str, got: str) -> CheckFailed:
    return CheckFailed(
        f"{source.path}: expected {expected}, got {got}; nothing was written; this is a defect of scanify, please "
        "report it with the notebook"
    )


def _source(document: str, cell: RawCell, new: Sequence[str], plain: bool) -> str:
    """Return the JSON of a cell's new source; unchanged lines keep their spelling."""
    lines = list(_lines("".join(document[start + 1 : end - 1] for start, end in cell.strings)))
    made = _merged(lines, new, plain)
    if not cell.listed:
        return f'"{"".join(line.raw + line.end for line in made)}"'
    if not made[-1].raw:  # the source is empty or ends with a line end
        made.pop()
    if not made:
        return "[]"
    first, last = (cell.strings[0][0], cell.strings[-1][1]) if cell.strings else (cell.span[0] + 1, cell.span[1] - 1)
    lead, tail = document[cell.span[0] + 1 : first], document[last : cell.span[1] - 1]
    between = document[cell.strings[0][1] : cell.strings[1][0]] if len(cell.strings) > 1 else f",{lead or ' '}"
    strings = (f'"{line.raw}{line.end}"' for line in made)
    return f"[{lead}{between.join(strings)}{tail}]"


def _lines(raw: str) -> Iterator[_Line]:
    """Split a source into lines, given the contents of its JSON strings."""
    begin, spelled, end = 0, list(_ESCAPE.finditer(raw)), ""
    for at, piece in enumerate(spelled):
        character = json.loads(f'"{piece[0]}"') if piece[0].startswith("\\") else ""
        if character not in ("\r", "\n") or (end and character == "\n"):
            end = ""
            continue
        stop = piece.end()
        following = spelled[at + 1][0] if at + 1 < len(spelled) else ""
        if character == "\r" and following.startswith("\\") and json.loads(f'"{following}"') == "\n":
            stop, end = spelled[at + 1].end(), "\r\n"
        yield _Line(
            json.loads(f'"{raw[begin : piece.start()]}"'), raw[begin : piece.start()], raw[piece.start() : stop]
        )
        begin = stop
    yield _Line(json.loads(f'"{raw[begin:]}"'), raw[begin:], "")


def _merged(old: Sequence[_Line], new: Sequence[str], plain: bool) -> list[_Line]:
    usual = next((line.end for line in old if line.end), "\\n")
    made: list[_Line] = []
    matcher = SequenceMatcher(None, [line.text for line in old], list(new), autojunk=False)
    for kind, first, last, start, stop in matcher.get_opcodes():
        if kind == "equal":
            made += [line if line.end else _Line(line.text, line.raw, usual) for line in old[first:last]]
        else:
            made += [_Line(text, json.dumps(text, ensure_ascii=plain)[1:-1], usual) for text in new[start:stop]]
    made[-1] = _Line(made[-1].text, made[-1].raw, "")
    return made
