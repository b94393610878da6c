"""One file of the project under its dotted name: its tree, its names, and the places of its nodes in the text."""

import ast
import bisect
import itertools
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from scanify.analysis.facts import Place, Span
from scanify.analysis.index.bindings import Bindings, Import, bindings, imported_names
from scanify.source.notebook.text import Cells, is_notebook

# str.splitlines also breaks at form feeds and other characters at which Python does not.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, eq=False)
class Module:
    """A parsed file. `name` is its dotted name, or the package's for an `__init__.py`.

    `base` is the folder that the dotted name starts from.
    """

    path: Path
    name: str
    base: Path
    is_package: bool
    text: str = field(repr=False)
    tree: ast.Module = field(repr=False)
    _spans: dict[ast.AST, Span] = field(default_factory=dict, init=False, repr=False)  # filled on demand
    _written: dict[str, bool] = field(default_factory=dict, init=False, repr=False)  # filled on demand

    @property
    def package(self) -> str:
        """The dotted name that relative imports start from; empty for a file outside any package."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def writes(self, text: str) -> bool:
        """True if the file contains a text; each text is searched for once."""
        known = self._written.get(text)
        if known is None:
            known = self._written[text] = text in self.text
        return known

    # -- names -----------------------------------------------------------------------------------------------------

    @cached_property
    def bindings(self) -> Bindings:
        return bindings(self.tree, self.package)

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """The absolute dotted name behind each imported name; the last import of a name wins."""
        return {name: each[-1].target for name, each in self.bindings.imports.items()}

    @property
    def definitions(self) -> Mapping[str, Sequence[ast.stmt]]:
        """The top-level statements that bind each name, in source order, without imports."""
        return self.bindings.definitions

    @property
    def rebound(self) -> Set[str]:
        """The names that some function declares `global`: their meaning may change at run time."""
        return self.bindings.rebound

    def binds(self, name: str) -> bool:
        """True if a statement of the file itself binds a name of the module."""
        return name in self.definitions or name in self.bindings.imports

    def exports(self, name: str) -> bool:
        """True if `from module import *` brings a name that the module binds."""
        match self.definitions.get("__all__", ()):
            case [ast.Assign(value=value) | ast.AnnAssign(value=value)] if isinstance(value, ast.List | ast.Tuple):
                names = [each.value for each in value.elts if isinstance(each, ast.Constant)]
                if len(names) == len(value.elts):
                    return name in names
        return not name.startswith("_")

    def imported(self, statement: ast.Import | ast.ImportFrom) -> dict[str, Import]:
        """Return the bindings of an import anywhere in the file, by local name; see `bindings.Import`."""
        return dict(imported_names(statement, self.package))

    # -- places ----------------------------------------------------------------------------------------------------

    @cached_property
    def _line_starts(self) -> list[int]:
        if "\r" in self.text:
            return [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return list(
            itertools.accumulate(map(len, self.text.split("\n")), lambda start, length: start + length + 1, initial=0)
        )[:-1]

    def offset(self, line: int, column: int) -> int:
        """Return the offset in characters of a line (from 1) and a column in bytes of UTF-8, as `ast` counts them."""
        start = self._line_starts[line - 1]
        if self.text.isascii():  # cheap: Python stores this flag with the string
            return start + column
        row = self.text[start : start + column]
        return start + (column if row.isascii() else len(row.encode()[:column].decode(errors="ignore")))

    def span(self, node: ast.AST) -> Span:
        """Return the span of a node, without parentheses around an expression."""
        known = self._spans.get(node)
        if known is None:
            known = self._spans[node] = self._span_of(node)
        return known

    def _span_of(self, node: ast.AST) -> Span:
        if not isinstance(
            node, ast.expr | ast.stmt | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern
        ):
            return self._span_of_parts(node)
        line, end_line = node.lineno, node.end_lineno or node.lineno
        end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Span(self.offset(line, node.col_offset), self.offset(end_line, end_column), line, end_line)

    def _span_of_parts(self, node: ast.AST) -> Span:
        """Return the span from first to last part, for nodes without a position: comprehensions, `with` items, ..."""
        if isinstance(node, ast.Module):
            return Span(0, len(self.text), 1, self.line_of(len(self.text)))
        parts = [self.span(child) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
        if not parts:
            raise ValueError(f"expected a node that stands somewhere in {self.path}, got {ast.dump(node)}")
        first, last = min(parts), max(parts, key=lambda part: part.end)
        return Span(first.start, last.end, first.line, last.end_line)

    def place(self, node: ast.AST) -> Place:
        return self.place_of(self.span(node))

    def place_of(self, span: Span) -> Place:
        """Return the place of a span; in a notebook, with its cell."""
        return Place(self.path, span, self._cells.at(span.line, span.end_line) if self._cells is not None else None)

    @cached_property
    def _cells(self) -> Cells | None:
        return Cells(self.text) if is_notebook(self.path) else None

    def code(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        span = self.span(node)
        return self.text[span.start : span.end]

    def line_start(self, line: int) -> int:
        """Return the offset of the first character of a line (from 1); the end of the text for a line past the last."""
        return self._line_starts[line - 1] if line <= len(self._line_starts) else len(self.text)

    def line_of(self, offset: int) -> int:
        """Return the line (from 1) that holds the character at `offset`."""
        return bisect.bisect_right(self._line_starts, offset)
