"""Parsing with libcst: the one place that builds its metadata."""

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

# str.splitlines also breaks at form feeds and other characters at which Python and libcst do not.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class SyntaxProblem:
    """Why a file could not be parsed, with the line (from 1)."""

    line: int
    message: str


@dataclass(frozen=True, eq=False)
class Parsed:
    """A parsed file: its tree, and on demand the spans and parents of its nodes."""

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
        """The node that holds `node`, None for the module."""
        return self._metadata[1].get(node)

    def ancestors(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The nodes around `node`, innermost first."""
        found = []
        above = self.parent(node)
        while above is not None:
            found.append(above)
            above = self.parent(above)
        return found

    def _offset(self, line: int, column: int) -> int:
        return self._line_starts[line - 1] + column

    def span(self, node: cst.CSTNode) -> Span:
        """The span of a node, its own parentheses included (libcst's positions leave them out)."""
        positions = self._metadata[0]
        begin = positions[node].start
        finish = positions[node].end
        # `with` statements hold a sentinel here, not parentheses of their own.
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
        """The text of a node as it stands in the file."""
        span = self.span(node)
        return self.source.text[span.start : span.end]

    def replaced_in(self, span: Span) -> tuple[Replacement, ...]:
        """The texts that stand for others in a stretch of the file: see `scanify.source.reread`."""
        return ()

    def ahead_of(self, statement: cst.CSTNode) -> tuple[str, ...]:
        """The lines that stand in front of a statement of the tree, and not in the file."""
        return ()

    def line_of(self, offset: int) -> int:
        """The line (from 1) that holds the character at `offset`."""
        return bisect.bisect_right(self._line_starts, offset)

    def line_start(self, line: int) -> int:
        """The offset of the first character of a line (from 1); the end of the text for a line past the last."""
        return self._line_starts[line - 1] if line <= len(self._line_starts) else len(self.source.text)


def parse(source: Source) -> Parsed | SyntaxProblem:
    """Parse a file. What cannot be parsed is a value, not an exception."""
    try:
        module = cst.parse_module(source.text)
    except cst.ParserSyntaxError as error:
        return SyntaxProblem(error.raw_line, error.message)
    except RecursionError:
        return SyntaxProblem(1, "nested too deeply to be parsed")
    return Parsed(source, module)
