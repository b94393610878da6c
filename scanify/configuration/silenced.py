"""Loops that are suppressed by a comment."""

from collections.abc import Iterable, Sequence

from scanify.analysis.index import Index
from scanify.analysis.index.module import Module
from scanify.analysis.lower.ignores import Ignore, about_span, ignores
from scanify.analysis.plan import Plan, Refusal, Remark


def silenced(index: Index, loops: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """Return the loops whose rule is suppressed by a comment."""
    found = []
    for loop in loops:
        module = index.module_at(loop.place.path)
        comments = comments_about(module, loop, ignores(module)) if module is not None else []
        if any(each.names(loop.rule) for each in comments):
            found.append(loop)
    return found


def comments_about(module: Module, loop: Plan | Refusal | Remark, comments: Iterable[Ignore]) -> list[Ignore]:
    """Return the comments that apply to a loop or a remark."""
    return [each for each in about_span(module, loop.place.span) if each in comments]
