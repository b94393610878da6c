"""A file that could not be parsed, as it is told: of a notebook with the cell."""

from pathlib import Path

from scanify.analysis.index.parse import Problem
from scanify.analysis.plan import Skipped
from scanify.source.notebook.text import Cells, is_notebook


def unparsed(path: Path, text: str, problem: Problem) -> Skipped:
    """The file as one that was skipped, and where its text is wrong."""
    cell = Cells(text).at(problem.line, problem.line) if is_notebook(path) else None
    where = f"on line {problem.line}" if cell is None else f"on line {cell.line} of cell {cell.number}"
    return Skipped(path, f"syntax error {where}: {problem.message}")
