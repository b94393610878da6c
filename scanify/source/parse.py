"""Parsing with libcst: the only module that computes its metadata."""

import bisect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from scanify.analysis.facts import Place, Replacement, Span
from scanify.source.file import Source

# str.splitlines also breaks at form feeds and other characters that are no line ends for Python and libcst.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SyntaxProblem:
    """The reason why a file could not be parsed, with the line (from 1)."""

    line: int
    message: str


@dataclass(frozen=True, eq=False)
class Parsed:
    """A parsed file: its tree and, computed on demand, the spans and parents of its nodes."""

    source: Source
    module: cst.Module

    @cached_property
    def _metadata(self) -> tuple[Mapping[cst.CSTNode, CodeRange], Mapping[cst.CSTNode, cst.CSTNode]]:
        wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        found = wrapper.resolve_many([PositionProvider, ParentNodeProvider])
        return (
            cast(Mapping[cst.CSTNode, CodeRange], found[PositionProvider]),
            cast(Mapping[cst.CSTNode, cst.CSTNode], found[ParentNodeProvider]),
        )

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(m.end() for m in _LINE_END.finditer(self.source.text))]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the parent of `node`, or None for the module."""
        return self._metadata[1].get(node)

    def ancestors(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the ancestors of `node`, innermost first."""
        found = []
        above = self.parent(node)
        while above is not None:
            found.append(above)
            above = self.parent(above)
        return found

    def _offset(self, line: int, column: int) -> int:
        return self._line_starts[line - 1] + column

    def span(self, node: cst.CSTNode) -> Span:
        """Return the span of a node, including its own parentheses, which libcst's positions exclude."""
        positions = self._metadata[0]
        begin = positions[node].start
        finish = positions[node].end
        # `with` statements hold a sentinel here instead of parentheses.
        if isinstance(lpar := getattr(node, "lpar", None), Sequence) and lpar:
            begin = positions[lpar[0]].start
        if isinstance(rpar := getattr(node, "rpar", None), Sequence) and rpar:
            finish = positions[rpar[-1]].end
        return Span(
            self._offset(begin.line, begin.column), self._offset(finish.line, finish.column), begin.line, finish.line
        )

    def place(self, node: cst.CSTNode) -> Place:
        return Place(self.source.path, self.span(node))

    def code(self, node: cst.CSTNode) -> str:
        """The source text of a node."""
        span = self.span(node)
        return self.source.text[span.start : span.end]

    def replaced_in(self, span: Span) -> tuple[Replacement, ...]:
        """Return the replaced texts in a range of the file: see `scanify.source.reread`."""
        return ()

    def ahead_of(self, statement: cst.CSTNode) -> tuple[str, ...]:
        """Return the lines in front of a statement that are in the tree but not in the file."""
        return ()

    def line_of(self, offset: int) -> int:
        """The line (from 1) that contains the character at `offset`."""
        return bisect.bisect_right(self._line_starts, offset)

    def line_start(self, line: int) -> int:
        """The offset of the first character of a line (from 1), or the end of the text for a line after the last."""
        return self._line_starts[line - 1] if line <= len(self._line_starts) else len(self.source.text)


def parse(source: Source) -> Parsed | SyntaxProblem:
    """Parse a file. A syntax error is returned, not raised."""
    try:
        module = cst.parse_module(source.text)
    except cst.ParserSyntaxError as error:
        return SyntaxProblem(error.raw_line, error.message)
    except RecursionError:
        return SyntaxProblem(1, "nested too deeply to be parsed")
    return Parsed(source, module)
