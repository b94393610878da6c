"""Decode a notebook to a `Source` whose text is the Python of all code cells."""

import codecs
from pathlib import Path

from scanify.analysis.plan import Skipped
from scanify.source.file import Source
from scanify.source.notebook.raw import NotRead, read_cells
from scanify.source.notebook.text import ambiguous, joined


def decode_notebook(path: Path, data: bytes) -> Source | Skipped:
    """Return the notebook as one text, or the reason to skip it."""
    bom = data.startswith(codecs.BOM_UTF8)
    try:
        document = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Skipped(path, f"line {line} is not utf-8, which every notebook is")
    try:
        cells = read_cells(document)
    except NotRead as error:
        return Skipped(path, str(error), fails=error.fails)
    if unclear := next((cell.number for cell in cells if ambiguous(cell.text)), None):
        return Skipped(path, f"cell {unclear} holds a comment such as scanify puts between cells (`#<cell 1>`)")
    return Source(path, joined([(cell.number, cell.text) for cell in cells]), bom=bom, document=document)
