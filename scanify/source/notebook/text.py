"""The one Python text of a notebook: its code cells in order, each below a comment that tells its number."""

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scanify.analysis.facts import Cell
from scanify.source.notebook.magics import MARK, original, readable

SUFFIX = ".ipynb"
_CELL = re.compile(r"^#<cell (\d+)>$", re.MULTILINE)
LINE_END = re.compile(r"\r\n|\r|\n")


def is_notebook(path: Path) -> bool:
    return path.suffix == SUFFIX


def ambiguous(text: str) -> bool:
    """Whether the text of a cell holds a comment that would be taken for one of ours."""
    return MARK in text or "#<cell " in text


def joined(cells: Sequence[tuple[int, str]]) -> str:
    """The text of cells, given with their numbers. Every line ends with a line feed."""
    # A blank line below the comment, so that it belongs to no statement.
    return "".join(
        f"#<cell {number}>\n\n" + "".join(f"{line}\n" for line in readable(LINE_END.split(text)))
        for number, text in cells
    )


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook's text, which may be one that was rewritten."""

    text: str

    @cached_property
    def _marks(self) -> list[re.Match[str]]:
        return list(_CELL.finditer(self.text))

    @cached_property
    def _lines(self) -> list[int]:
        """The lines of the text that the marks stand on."""
        found, line, at = [], 1, 0
        for mark in self._marks:
            line += self.text.count("\n", at, mark.start())
            at = mark.start()
            found.append(line)
        return found

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        return tuple(int(mark[1]) for mark in self._marks)

    def readable(self) -> list[list[str]]:
        """The lines of each cell, as Python reads them."""
        ends = [*(mark.start() for mark in self._marks[1:]), len(self.text)]
        bodies = (self.text[mark.end() + 1 : end] for mark, end in zip(self._marks, ends, strict=True))
        return [body.removeprefix("\n").removesuffix("\n").split("\n") for body in bodies]

    def lines(self) -> list[list[str]]:
        """The lines of each cell, as they stand in the notebook."""
        return [[original(line) for line in lines] for lines in self.readable()]

    def at(self, line: int, end_line: int) -> Cell | None:
        """The cell that a line (from 1) is in, with its place there."""
        which = bisect.bisect_right(self._lines, line) - 1
        if which < 0:
            return None
        above = self._lines[which] + 1  # the mark, and the blank line below it
        return Cell(self.numbers[which], max(line - above, 1), max(end_line - above, 1))

    def crosses(self, line: int, end_line: int) -> int | None:
        """The number of the cell that begins between two lines, the first one left out."""
        which = bisect.bisect_right(self._lines, line)
        return self.numbers[which] if which < len(self._lines) and self._lines[which] <= end_line else None
