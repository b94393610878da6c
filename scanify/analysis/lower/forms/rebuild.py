"""A body in which some is said in other words: nodes with the places of what they stand for, and the texts for it.

Nodes without a change in them stay the objects that they are.
"""

import ast
import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from scanify.analysis.facts import Replacement
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import children
from scanify.analysis.lower.scope import adopt, parent_of
from scanify.analysis.lower.text import made


@dataclass(frozen=True, eq=False)
class Change:
    """One node, and the name that stands in its place; None for a statement that goes."""

    node: ast.expr | ast.stmt
    name: str | None


def rebuilt(
    module: Module, body: Sequence[ast.stmt], changes: Iterable[Change]
) -> tuple[tuple[ast.stmt, ...], tuple[Replacement, ...]]:
    """A body with its changes, and the texts that stand for others in the file then."""
    by_node: dict[ast.AST, Change] = {change.node: change for change in changes}
    on_the_way: set[ast.AST] = set()
    for statement in body:
        _holds(statement, by_node, on_the_way)
    changer = _Changer(module, by_node, on_the_way)
    new = cast(list[ast.stmt], changer.parts(list(body)))
    return tuple(new), tuple(sorted(changer.replaced, key=lambda each: (each.start, each.end)))


def _holds(node: ast.AST, changes: Mapping[ast.AST, Change], on_the_way: set[ast.AST]) -> bool:
    """Whether a node is changed, or holds one that is; those that do are added to `on_the_way`."""
    held = [_holds(child, changes, on_the_way) for child in children(node)]
    if any(held):
        on_the_way.add(node)
    return any(held) or node in changes


class _Changer:
    def __init__(self, module: Module, changes: Mapping[ast.AST, Change], on_the_way: set[ast.AST]) -> None:
        self.module, self.changes, self.on_the_way = module, changes, on_the_way
        self.replaced: list[Replacement] = []
        self.new: set[ast.AST] = set()

    def parts(self, nodes: list[ast.AST]) -> list[ast.AST]:
        return [new for node in nodes if (new := self._node(node)) is not None]

    def _node(self, node: ast.AST) -> ast.AST | None:
        change = self.changes.get(node)
        if change is not None and change.name is None:
            self.replaced.append(gone(self.module, cast(ast.stmt, node)))
            return None
        if change is None or change.name is None:
            return self._with_parts(node) if node in self.on_the_way else node
        span = self.module.span(node)
        new = made(ast.Name(change.name, ast.Load()), node)
        self.replaced.append(Replacement(span.start, span.end, change.name))
        self._takes_place(new, node)
        return new

    def _with_parts(self, node: ast.AST) -> ast.AST:
        new = copy.copy(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(new, field, self._node(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.AST):
                setattr(new, field, self.parts(value))
        self._takes_place(new, node)
        for child in children(new):
            if child in self.new:
                adopt(self.module, child, new)
        return new

    def _takes_place(self, new: ast.AST, old: ast.AST) -> None:
        self.new.add(new)
        parent = parent_of(self.module, old)
        if parent is not None:
            adopt(self.module, new, parent)


def gone(module: Module, statement: ast.stmt) -> Replacement:
    """The text of a statement that goes: its whole line where it stands alone on that; a comment behind it stays.

    Of the last statement of a block all after the statement above: what holds the block ends where that does.
    """
    text, span = module.text, module.span(statement)
    block = _block(module, statement)
    position = next(at for at, each in enumerate(block) if each is statement)
    before = block[position - 1] if position else None
    after = block[position + 1] if position + 1 < len(block) else None
    if after is not None and after.lineno == statement.end_lineno:  # `i += 1; x = layer(x)`
        return Replacement(span.start, module.span(after).start, "")
    if before is not None and after is None:
        if before.end_lineno == statement.lineno:
            return Replacement(module.span(before).end, span.end, "")
        return Replacement(len(text[: span.start].rstrip()), span.end, "")
    start, end = module.line_start(span.line), module.line_start(span.end_line + 1)
    rest = text[span.end : end]
    if rest.strip(" \t\r\n;"):
        return Replacement(span.start, span.end + len(rest) - len(rest.lstrip()), "")
    return Replacement(start, end, "")


def _block(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements among which one stands."""
    parent = parent_of(module, statement)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(each is statement for each in block):
            return cast(list[ast.stmt], block)
    return [statement]
