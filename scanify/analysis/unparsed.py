"""Reports about files that could not be parsed."""

from pathlib import Path

from scanify.analysis.index.parse import Problem
from scanify.analysis.plan import Skipped
from scanify.source.notebook.text import Cells, is_notebook


def unparsed(path: Path, text: str, problem: Problem) -> Skipped:
    """Return the file as skipped, with the place of its syntax error: in a notebook, the cell and its line."""
    cell = Cells(text).at(problem.line, problem.line) if is_notebook(path) else None
    where = f"on line {problem.line}" if cell is None else f"on line {cell.line} of cell {cell.number}"
    return Skipped(path, f"syntax error {where}: {problem.message}")
