"""A parsed file with modified nodes.

Every node of the new tree still has a place in the file, and the replaced texts are recorded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from scanify.analysis.facts import Replacement, Span
from scanify.source.parse import Parsed

Parts = Mapping[str, cst.CSTNode]


@dataclass(frozen=True)
class Named:
    """An unchanged expression that is given a name: `name := expression`."""

    name: str


@dataclass(frozen=True, eq=False)
class Change:
    """A node of a tree and its replacement.

    The replacement is another node, None (the line is removed), a name for the expression, or new parts of the same
    node, whose texts in the file stay the same.
    """

    node: cst.CSTNode
    becomes: cst.CSTNode | Parts | Named | None


@dataclass(frozen=True, eq=False)
class Ahead:
    """A line in front of a statement.

    It has the place of an earlier node, `after`, since it has none in the file. No text of the file changes, so code
    that rewrites the statement has to write the line as well (`Parsed.ahead_of`).
    """

    statement: cst.CSTNode
    line: cst.SimpleStatementLine
    after: cst.CSTNode


@dataclass(frozen=True, eq=False)
class Reread(Parsed):
    """A parsed file with changes.

    `stands_for` maps a new node to the node of the original tree whose place it has, `written` holds the nodes without
    text in the file, `replacements` the changed texts in order of place, `ahead` the lines in front of statements of
    the new tree.
    """

    original: Parsed
    stands_for: Mapping[cst.CSTNode, cst.CSTNode]
    written: frozenset[cst.CSTNode]
    replacements: tuple[Replacement, ...]
    ahead: Mapping[cst.CSTNode, tuple[str, ...]]

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        waiting: list[cst.CSTNode] = [self.module]
        while waiting:
            node = waiting.pop()
            for child in node.children:
                found[child] = node
                waiting.append(child)
        return found

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def span(self, node: cst.CSTNode) -> Span:
        return self.original.span(self.stands_for.get(node, node))

    def code(self, node: cst.CSTNode) -> str:
        if node in self.written:
            return cst.Module([]).code_for_node(node)
        span = self.span(node)
        text, at = "", span.start
        for one in self.replaced_in(span):
            text += self.source.text[at : one.start] + one.text
            at = one.end
        return text + self.source.text[at : span.end]

    def replaced_in(self, span: Span) -> tuple[Replacement, ...]:
        return tuple(one for one in self.replacements if span.start <= one.start and one.end <= span.end)

    def ahead_of(self, statement: cst.CSTNode) -> tuple[str, ...]:
        return self.ahead.get(statement, ())


def reread(parsed: Parsed, changes: Sequence[Change], ahead: Sequence[Ahead] = ()) -> Reread:
    """Change some nodes of a tree, and add lines in front of some of the changed statements."""
    changer = _Changer(parsed, changes, ahead)
    module = parsed.module.visit(changer)
    assert isinstance(module, cst.Module)
    replacements = sorted(changer.replacements, key=lambda one: (one.start, one.end))
    written = frozenset(changer.written)
    return Reread(parsed.source, module, parsed, changer.stands_for, written, tuple(replacements), changer.texts_ahead)


class _Changer(cst.CSTTransformer):
    """Visits only the ancestors of changed nodes; all other nodes remain the same objects."""

    def __init__(self, parsed: Parsed, changes: Sequence[Change], ahead: Sequence[Ahead]) -> None:
        super().__init__()
        self.parsed = parsed
        self.ahead: dict[cst.CSTNode, list[Ahead]] = {}
        for one in ahead:
            self.ahead.setdefault(one.statement, []).append(one)
        self.texts_ahead: dict[cst.CSTNode, tuple[str, ...]] = {}
        self.changes = {change.node: change.becomes for change in changes}
        self.way = {above for change in changes for above in parsed.ancestors(change.node)}
        self.stands_for: dict[cst.CSTNode, cst.CSTNode] = {}
        self.written: set[cst.CSTNode] = set()
        self.replacements: list[Replacement] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self.way

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNode]:
        becomes = self.changes.get(original_node, original_node)
        if becomes is None:
            self.replacements.append(_gone(self.parsed, original_node))
            return cst.RemoveFromParent()
        if isinstance(becomes, Named):
            return self._named(becomes.name, original_node, updated_node)
        if isinstance(becomes, Mapping):
            for name, part in becomes.items():
                self._takes_place(part, getattr(original_node, name))
            updated_node = updated_node.with_changes(**becomes)
        elif becomes is not original_node:
            assert isinstance(becomes, cst.CSTNode)
            self._takes_place(becomes, original_node)
            span = self.parsed.span(original_node)
            self.replacements.append(Replacement(span.start, span.end, cst.Module([]).code_for_node(becomes)))
            return becomes
        if updated_node is not original_node:
            self.stands_for[updated_node] = original_node
        return self._with_ahead(original_node, updated_node)

    def _named(self, name: str, old: cst.CSTNode, new: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(new, cst.BaseExpression)
        target = cst.Name(name)
        whole = cst.NamedExpr(target, new, lpar=[], rpar=[])
        self._takes_place(target, old)
        self.stands_for[whole] = old
        if new is not old:
            self.stands_for[new] = old
        start = self.parsed.span(old).start
        self.replacements.append(Replacement(start, start, f"{name} := "))
        return whole

    def _with_ahead(self, old: cst.CSTNode, new: cst.CSTNode) -> cst.CSTNode | cst.FlattenSentinel[cst.CSTNode]:
        found = self.ahead.get(old, [])
        if not found:
            return new
        for one in found:
            self._takes_place(one.line, one.after)
        self.texts_ahead[new] = tuple(cst.Module([]).code_for_node(one.line).strip() for one in found)
        return cst.FlattenSentinel([*(one.line for one in found), new])

    def _takes_place(self, new: cst.CSTNode, old: cst.CSTNode) -> None:
        for node in _nodes(new):
            self.stands_for[node] = old
            self.written.add(node)


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _gone(parsed: Parsed, line: cst.CSTNode) -> Replacement:
    """Return the replacement that removes a statement and its line; a trailing comment keeps the line.

    For the last statement of a block, remove everything after the previous line, since the block ends with the
    statement.
    """
    assert isinstance(line, cst.SimpleStatementLine)
    text, span = parsed.source.text, parsed.span(line.body[0])
    block = parsed.parent(line)
    if isinstance(block, cst.IndentedBlock) and len(block.body) > 1 and block.body[-1] is line:
        return Replacement(len(text[: span.start].rstrip()), span.end, "")
    start, end = parsed.line_start(span.line), parsed.line_start(span.end_line + 1)
    if text[span.end : end].strip(" \t\r\n"):
        return Replacement(span.start, span.end + len(text[span.end : end]) - len(text[span.end : end].lstrip()), "")
    return Replacement(start, end, "")
