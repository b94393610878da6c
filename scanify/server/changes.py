"""The edits of code actions: a rewrite of a loop, or a comment that suppresses it."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from scanify.analysis.index.parse import Problem, parse
from scanify.report.findings.finding import Finding
from scanify.server.documents import Document, Notebook, changed, split
from scanify.server.jobs import Rewritten
from scanify.source.notebook.text import Cells, is_notebook

_ROW_END = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")
_Edits = types.TextDocumentEdit


def edits_of(done: Rewritten, documents: Mapping[Path, Document | Notebook], codec: PositionCodec) -> list[_Edits]:
    """Return the edits of a rewrite, for the versions of the documents that it was computed from.

    A notebook that is not open is left out, since its cells have no documents.
    """
    made: list[_Edits] = []
    for path, (before, after) in done.texts.items():
        document = documents.get(path)
        if isinstance(document, Notebook):
            made += _in_cells(document, before, after, codec)
        elif isinstance(document, Document):
            made.append(_edit(document.uri, document.version, before, after, codec))
        elif not is_notebook(path):
            made.append(_edit(path.as_uri(), None, before, after, codec))
    return made


def _in_cells(notebook: Notebook, before: str, after: str, codec: PositionCodec) -> list[_Edits]:
    old, new = Cells(before), Cells(after)
    made = []
    for number, mine, others in zip(old.numbers, old.lines(), new.lines(), strict=True):
        if mine != others:
            uri, text = notebook.cells[number - 1]
            end = "\r\n" if text is not None and "\r\n" in text else "\n"
            made.append(_edit(uri, None, end.join(mine), end.join(others), codec))
    return made


def _edit(uri: str, version: int | None, before: str, after: str, codec: PositionCodec) -> _Edits:
    """Create a single edit from one text to another, spanning the first to the last changed line."""
    old, new = split(before), split(after)
    first, last, by = changed(old, new)
    gone = old[first - 1 : last - by]
    rows = [row for row in _ROW_END.split(before) if row]
    offset = sum(map(len, rows[: first - 1]))
    tail = sum(map(len, rows[first - 1 + len(gone) :]))
    start = types.Position(first - 1, 0)
    end_row = first - 1 + len(gone)
    end = types.Position(end_row, 0) if end_row < len(old) else types.Position(len(old) - 1, len(old[-1]))
    text = after[offset : len(after) - tail]
    place = codec.range_to_client_units([f"{line}\n" for line in old], types.Range(start, end))
    document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
    return types.TextDocumentEdit(document, [types.TextEdit(place, text)])


def ignoring(finding: Finding, text: str, codec: PositionCodec) -> types.TextEdit | None:
    """Return the edit that suppresses a finding by a comment for its rule; None if the text cannot be parsed.

    The comment is placed at the end of the line if a loop's head is a single line without a comment, and otherwise
    above the statement.
    """
    tree = parse(text)
    if isinstance(tree, Problem):
        return None
    lines, row = split(text), finding.mark.line
    holding = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and _spans(each, row)]
    if not holding:
        return None
    statement = max(holding, key=lambda each: (each.lineno, each.col_offset))
    line = lines[statement.lineno - 1]
    before = line.encode()[: statement.col_offset].decode(errors="ignore")
    comment = f"# scanify: ignore[{finding.rule}]"
    if _head_alone(statement, line) or before.strip():
        at = types.Position(statement.lineno - 1, len(line.rstrip()))
        return types.TextEdit(_here(at, lines, codec), f"  {comment}")
    end = "\r\n" if "\r\n" in text else "\n"
    return types.TextEdit(_here(types.Position(statement.lineno - 1, 0), lines, codec), f"{before}{comment}{end}")


def _head_alone(statement: ast.stmt, line: str) -> bool:
    if not isinstance(statement, ast.For | ast.AsyncFor | ast.While):
        return False
    return line.rstrip().endswith(":") and "#" not in line and statement.body[0].lineno > statement.lineno


def _spans(statement: ast.stmt, row: int) -> bool:
    return statement.lineno <= row <= (statement.end_lineno or statement.lineno)


def _here(at: types.Position, lines: Sequence[str], codec: PositionCodec) -> types.Range:
    return codec.range_to_client_units([f"{line}\n" for line in lines], types.Range(at, at))
