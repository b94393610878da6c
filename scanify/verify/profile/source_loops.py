"""The loops of a source file by the lines that they run: `for` and `while` statements and comprehensions."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.verify.profile.locations import Frame

_LONGEST = 60
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Loop:
    """A loop by the line and the head that a reader finds it by, and what it runs, from one place to another.

    `walks` is where what it walks is written, None of a `while`: there Python traces how the next element is taken.
    """

    line: int
    head: str
    walks: tuple[int, int] | None
    start: tuple[int, int]
    end: tuple[int, int]

    def runs(self, frame: Frame) -> bool:
        return self.start <= (frame.line, frame.column) < self.end


class SourceLoops:
    """The loops of one file. A file that cannot be parsed has none."""

    def __init__(self, text: str) -> None:
        try:
            tree: ast.AST = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        self._loops = sorted(_loops(tree), key=lambda loop: (loop.start, -loop.end[0], -loop.end[1]))
        self._starts = [loop.start for loop in self._loops]

    def around(self, frame: Frame, again: bool = False) -> list[Loop]:
        """The loops that run the place of a frame, the outermost first.

        With `again`, what was traced there was so several times: where a loop says what it walks, it is its elements.
        """
        place = frame.line, frame.column
        near = self._loops[: bisect_right(self._starts, place)] if not again else self._loops
        return [loop for loop in near if loop.runs(frame) or (again and loop.walks == place)]


def _loops(tree: ast.AST) -> Iterator[Loop]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor):
            yield _of(
                node, f"for {_bare(node.target)} in {ast.unparse(node.iter)}", node.body[0], node.body[-1], node.iter
            )
        elif isinstance(node, ast.While):
            yield _of(node, f"while {ast.unparse(node.test)}", node.body[0], node.body[-1])
        elif isinstance(node, _COMPREHENSIONS):
            level = node.generators[0]
            head = f"... for {_bare(level.target)} in {ast.unparse(level.iter)}"
            made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            yield _of(node, head, made[0], made[-1], level.iter)


def _of(
    node: ast.stmt | ast.expr,
    head: str,
    first: ast.stmt | ast.expr,
    last: ast.stmt | ast.expr,
    walked: ast.expr | None = None,
) -> Loop:
    head = " ".join(head.split())
    short = head if len(head) <= _LONGEST else f"{head[: _LONGEST - 3]}..."
    end = last.end_lineno or last.lineno, last.end_col_offset or last.col_offset
    walks = None if walked is None else (walked.lineno, walked.col_offset)
    return Loop(node.lineno, short, walks, (first.lineno, first.col_offset), end)


def _bare(target: ast.expr) -> str:
    """A target as one writes it: several names without brackets."""
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and text.startswith("(") else text
