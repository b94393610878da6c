"""A parsed file of which some is said in other words: another tree, of which every node still has its place in the
file, and the texts that stand for those places now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from scanify.analysis.facts import Replacement, Span
from scanify.source.parse import Parsed

Parts = Mapping[str, cst.CSTNode]


@dataclass(frozen=True, eq=False)
class Change:
    """One node of a tree, and what stands in its place: another one, nothing (a line goes), or itself with other
    parts, whose texts in the file are what they were before."""

    node: cst.CSTNode
    becomes: cst.CSTNode | Parts | None


@dataclass(frozen=True, eq=False)
class Reread(Parsed):
    """`stands_for` gives the node of the original tree whose place a new node has, `written` are the nodes that have
    no text of their own in the file, `replacements` the texts that changed, in order of their places."""

    original: Parsed
    stands_for: Mapping[cst.CSTNode, cst.CSTNode]
    written: frozenset[cst.CSTNode]
    replacements: tuple[Replacement, ...]

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


def reread(parsed: Parsed, changes: Sequence[Change]) -> Reread:
    """The file with some nodes of its tree changed."""
    changer = _Changer(parsed, changes)
    module = parsed.module.visit(changer)
    assert isinstance(module, cst.Module)
    replacements = sorted(changer.replacements, key=lambda one: one.start)
    written = frozenset(changer.written)
    return Reread(parsed.source, module, parsed, changer.stands_for, written, tuple(replacements))


class _Changer(cst.CSTTransformer):
    """Visits what lies on the way to a change and nothing else: all other nodes stay the objects that they are."""

    def __init__(self, parsed: Parsed, changes: Sequence[Change]) -> None:
        super().__init__()
        self.parsed = parsed
        self.changes = {change.node: change.becomes for change in changes}
        self.way = {above for change in changes for above in parsed.ancestors(change.node)}
        self.stands_for: dict[cst.CSTNode, cst.CSTNode] = {}
        self.written: set[cst.CSTNode] = set()
        self.replacements: list[Replacement] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self.way

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode | cst.RemovalSentinel:
        becomes = self.changes.get(original_node, original_node)
        if becomes is None:
            self.replacements.append(_gone(self.parsed, original_node))
            return cst.RemoveFromParent()
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
        return updated_node

    def _takes_place(self, new: cst.CSTNode, old: cst.CSTNode) -> None:
        for node in _nodes(new):
            self.stands_for[node] = old
            self.written.add(node)


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _gone(parsed: Parsed, line: cst.CSTNode) -> Replacement:
    """The whole line of a statement that stands alone on it; a comment behind it keeps the line.

    Of the last statement of a block all after the line above: what holds the block ends where the statement does.
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
