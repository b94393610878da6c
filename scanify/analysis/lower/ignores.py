"""Comments that exclude loops: `# scanify: ignore`, `ignore[SCN101]`, `ignore-file`."""

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.facts import Span
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import kept, nodes_in
from scanify.analysis.lower.scope import parent_of

MARK = "scanify: ignore"
_COMMENT = re.compile(r"#[ \t]*scanify: ignore(?P<file>-file)?(?![\w-])(?:[ \t]*\[(?P<codes>[^\]#]*)\])?[^#]*")


@dataclass(frozen=True)
class Ignore:
    """An ignore comment: `text[start:end]` on `line` (from 1), starting at its `#`.

    `codes` are the rules as written, or None if it ignores all rules. `whole_file`: it applies to the whole file.
    """

    line: int
    start: int
    end: int
    codes: tuple[str, ...] | None
    whole_file: bool

    def names(self, rule: str) -> bool:
        """True if a code of the comment is the rule, or a prefix of it."""
        return any(code and rule.startswith(code.upper()) for code in self.codes or ())


def ignores(module: Module) -> tuple[Ignore, ...]:
    """Return the ignore comments of a file, in order."""
    return kept(module.tree, "_ignores", lambda: tuple(_read(module)) if module.writes(MARK) else ())


def _read(module: Module) -> Iterator[Ignore]:
    for line, column, comment in _comments(module):
        for match in _COMMENT.finditer(comment):
            start = module.line_start(line) + column + match.start()
            codes = match["codes"]
            named = None if codes is None else tuple(code.strip() for code in codes.split(","))
            yield Ignore(line, start, start + len(match[0]), named, match["file"] is not None)


def _comments(module: Module) -> list[tuple[int, int, str]]:
    """Return the comments of a file, each with its line and column."""
    lines = [_line(module, number) for number in range(1, module.line_of(len(module.text)) + 1)]
    try:
        tokens = list(tokenize.generate_tokens(iter([*lines, ""]).__next__))
        return [(*token.start, token.string) for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        # The file may need a later Python: rather mistake a string for a comment than miss a comment.
        marked = [(number, line.find("#"), line) for number, line in enumerate(lines, start=1) if MARK in line]
        return [(number, at, line[at:].rstrip("\r\n")) for number, at, line in marked if at >= 0]


def about(module: Module, node: ast.AST) -> tuple[Ignore, ...]:
    """Return comments on a loop: in its head, its expression's statement, right above it, or for the whole file."""
    every = ignores(module)
    if not every:
        return ()
    lines = _lines(module, node)
    return tuple(each for each in every if each.whole_file or each.line in lines)


def about_span(module: Module, span: Span) -> tuple[Ignore, ...]:
    """Return comments on the expression or statement with a span, or on the smallest statement around it."""
    if not ignores(module):
        return ()
    nodes = [node for node in nodes_in(module.tree) if isinstance(node, ast.stmt | ast.expr)]
    same = [node for node in nodes if module.span(node) == span]
    statements = [(module.span(node), node) for node in nodes if isinstance(node, ast.stmt)]
    around = [(own.start, node) for own, node in statements if own.start <= span.start and span.end <= own.end]
    return about(module, same[0] if same else max(around, key=lambda each: each[0])[1])


def _lines(module: Module, node: ast.AST) -> set[int]:
    statement: ast.AST | None = node
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = parent_of(module, statement)
    assert isinstance(statement, ast.stmt)
    last = getattr(node, "end_lineno", None) or statement.lineno
    if node is statement and isinstance(node, ast.For | ast.AsyncFor | ast.While):
        last = max(node.lineno, node.body[0].lineno - 1)
    lines = set(range(statement.lineno, last + 1))
    above = statement.lineno - 1
    while above > 0 and _line(module, above).lstrip().startswith("#"):
        lines.add(above)
        above -= 1
    return lines


def _line(module: Module, number: int) -> str:
    return module.text[module.line_start(number) : module.line_start(number + 1)]
