"""Rebuild bodies with some nodes replaced: new nodes get the positions of the old ones, and the file gets edits.

Unchanged nodes remain the same objects.
"""

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from scanify.analysis.facts import Replacement
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import children
from scanify.analysis.lower.scope import adopt, stand_in
from scanify.analysis.lower.text import made


@dataclass(frozen=True, eq=False)
class Change:
    """One node and the name that replaces it; None deletes a statement that `stands_alone`."""

    node: ast.expr | ast.stmt
    name: str | None


def rebuilt(
    module: Module, body: Sequence[ast.stmt], changes: Iterable[Change]
) -> tuple[tuple[ast.stmt, ...], tuple[Replacement, ...]]:
    """Return a body with its changes, and their replacements in the file."""
    changer = _Changer(module, {change.node: change.name for change in changes})
    new = cast(list[ast.stmt], changer.parts(body))
    return tuple(new), tuple(sorted(changer.replaced, key=lambda each: (each.start, each.end)))


def stands_alone(module: Module, statement: ast.stmt) -> bool:
    """True if the lines of a statement hold nothing else, not even a comment."""
    span = module.span(statement)
    lines = module.text[module.line_start(span.line) : module.line_start(span.end_line + 1)]
    return lines.strip() == module.code(statement)


class _Changer:
    def __init__(self, module: Module, names: dict[ast.AST, str | None]) -> None:
        self._module, self._names = module, names
        self._new: set[ast.AST] = set()
        self.replaced: list[Replacement] = []

    def parts(self, nodes: Sequence[ast.AST | None]) -> list[ast.AST | None]:
        """Return the nodes of a list without deleted ones; None is the key of `**more` in a dict."""
        changed = ((old, self._changed(old) if old is not None else None) for old in nodes)
        return [new for old, new in changed if new is not None or old is None]

    def _changed(self, node: ast.AST) -> ast.AST | None:
        if node in self._names:
            return self._replaced(node, self._names[node])
        fields: dict[str, object] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST) and (new := self._changed(value)) is not value:
                fields[name] = new
            elif isinstance(value, list) and any(isinstance(each, ast.AST) for each in value):
                parts = self.parts(value)
                if len(parts) != len(value) or any(new is not old for new, old in zip(parts, value, strict=True)):
                    fields[name] = parts
        return self._with(node, fields) if fields else node

    def _replaced(self, node: ast.AST, name: str | None) -> ast.AST | None:
        span = self._module.span(node)
        if name is None:
            start, end = self._module.line_start(span.line), self._module.line_start(span.end_line + 1)
            self.replaced.append(Replacement(start, end, ""))
            return None
        self.replaced.append(Replacement(span.start, span.end, name))
        return self._placed(made(ast.Name(name, ast.Load()), node), node)

    def _with(self, node: ast.AST, fields: dict[str, object]) -> ast.AST:
        new = copy.copy(node)
        for name, value in fields.items():
            setattr(new, name, value)
        for child in children(new):
            if child in self._new:
                adopt(self._module, child, new)
        return self._placed(new, node)

    def _placed(self, new: ast.AST, old: ast.AST) -> ast.AST:
        self._new.add(new)
        stand_in(self._module, new, old)
        return new
