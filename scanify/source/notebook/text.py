"""The Python text of a notebook: its code cells in order, each below a comment with its number."""

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
    """True if the text of a cell contains a comment that looks like one of ours."""
    return MARK in text or "#<cell " in text


def joined(cells: Sequence[tuple[int, str]]) -> str:
    """Join numbered cells to one text. Every line ends with a line feed."""
    # The blank line below the comment separates it from the next statement.
    return "".join(
        f"#<cell {number}>\n\n" + "".join(f"{line}\n" for line in readable(LINE_END.split(text)))
        for number, text in cells
    )


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook's text, which may have been rewritten."""

    text: str

    @cached_property
    def _marks(self) -> list[re.Match[str]]:
        return list(_CELL.finditer(self.text))

    @cached_property
    def _lines(self) -> list[int]:
        """The line numbers of the marks."""
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
        """The lines of each cell, as in the notebook."""
        return [[original(line) for line in lines] for lines in self.readable()]

    def at(self, line: int, end_line: int) -> Cell | None:
        """Return the cell that contains a line (from 1), with the lines relative to the cell."""
        which = bisect.bisect_right(self._lines, line) - 1
        if which < 0:
            return None
        above = self._lines[which] + 1  # the mark and the blank line below it
        return Cell(self.numbers[which], max(line - above, 1), max(end_line - above, 1))

    def crosses(self, line: int, end_line: int) -> int | None:
        """Return the number of the first cell that begins after `line` and not after `end_line`."""
        which = bisect.bisect_right(self._lines, line)
        return self.numbers[which] if which < len(self._lines) and self._lines[which] <= end_line else None
