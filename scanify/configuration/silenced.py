"""Loops that a comment silences for their rule."""

import ast
from collections.abc import Iterable, Sequence

from scanify.analysis.index import Index
from scanify.analysis.index.module import Module
from scanify.analysis.lower.ignores import Ignore, about, ignores
from scanify.analysis.plan import Plan, Refusal, Remark


def silenced(index: Index, loops: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """Return those of some loops of which a comment says that they are not to be told for their rule."""
    found = []
    for loop in loops:
        module = index.module_at(loop.place.path)
        comments = comments_about(module, loop, ignores(module)) if module is not None else []
        if any(each.names(loop.rule) for each in comments):
            found.append(loop)
    return found


def comments_about(module: Module, loop: Plan | Refusal | Remark, comments: Iterable[Ignore]) -> list[Ignore]:
    """Return those of some comments that are about a loop or a remark."""
    span = loop.place.span
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.stmt | ast.expr)]
    same = [node for node in nodes if module.span(node) == span]
    inside = [node for node in nodes if isinstance(node, ast.stmt) and module.span(node).start <= span.start]
    inside = [node for node in inside if span.end <= module.span(node).end]
    node = same[0] if same else max(inside, key=lambda node: module.span(node).start)
    return [each for each in about(module, node) if each in comments]
