"""Lay out the statements that a rewrite touched like the rest of a formatted file."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scanify.emit.edits import Edit
from scanify.emit.text.house_style import HouseStyle
from scanify.emit.text.layout import Style
from scanify.emit.text.loop_text import step_of
from scanify.emit.text.newlines import line_start, line_stop, newline_of
from scanify.emit.text.statement_layout import laid_out

_PRAGMA = re.compile(r"#\s*(noqa|type:|pyright:|pylint:|fmt:|ruff:|pragma:|ty:|isort:|nosec)", re.IGNORECASE)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)


def tidied(path: Path, text: str, stretches: Sequence[tuple[int, int]], house: HouseStyle) -> list[Edit]:
    """Return the edits that lay out each statement of a new text that overlaps a stretch."""
    if not house.formatted or not stretches:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    offsets = _Offsets(text)
    made = []
    for start, end in _touched(tree, offsets, text, stretches):
        begin = line_start(text, start)
        stop = line_stop(text, end)
        if text[begin:start].strip():
            continue
        behind = text[end:stop]
        tail = 0 if _PRAGMA.search(behind) else len(behind.rstrip())
        style = Style(text[begin:start], step_of(text, text[begin:start]), newline_of(text), house.width)
        old = text[start:end]
        if old.endswith(":") and not behind.strip():
            new = laid_out(f"{old} ...", style)
        else:
            new = laid_out(old, style, tail)
        if new is not None and new != old:
            made.append(Edit(path, start, end, new))
    return made


class _Offsets:
    """Convert positions of the parser, which counts bytes, to offsets of characters."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def at(self, line: int, column: int) -> int:
        text = self.lines[line - 1]
        inside = column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))
        return self.starts[line - 1] + inside


def _touched(
    tree: ast.AST, offsets: _Offsets, text: str, stretches: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the simple statements, and the headers of functions, that overlap a stretch."""
    wanted = sorted(stretches)
    for node in ast.walk(tree):
        if isinstance(node, _SIMPLE):
            assert node.end_lineno is not None and node.end_col_offset is not None
            start, end = offsets.at(node.lineno, node.col_offset), offsets.at(node.end_lineno, node.end_col_offset)
        elif isinstance(node, ast.FunctionDef):
            start = offsets.at(node.lineno, node.col_offset)
            end = text.rfind(":", start, offsets.at(node.body[0].lineno, node.body[0].col_offset)) + 1
        else:
            continue
        if any(begin < end and start < stop for begin, stop in wanted):
            yield start, end
