"""All remarks on some files of a project."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.index import Index
from scanify.analysis.lower.ignores import MARK, is_silenced
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks import layer_replaced, optimised
from scanify.analysis.remarks.candidates import candidates
from scanify.analysis.remarks.scans import (
    cast_carry,
    graph_definitions,
    missing_key,
    nested_prime,
    one_key,
    one_layer,
    policy_names,
    remat_around,
    shared_weights,
    sliced,
)
from scanify.analysis.remarks.seen import Seen
from scanify.analysis.remarks.words import may_know_stacks
from scanify.source.file import Source

if TYPE_CHECKING:
    from scanify.analysis.index.parse import Problem

Rule = Callable[[Seen, ast.Call], Iterator[Remark]]
_RULES: tuple[Rule, ...] = tuple(
    each.remarks
    for each in (
        one_key,
        sliced,
        remat_around,
        one_layer,
        nested_prime,
        policy_names,
        shared_weights,
        missing_key,
        graph_definitions,
        cast_carry,
        layer_replaced,
    )
)


def remarks_on(
    asked: Sequence[Source],
    sources: Iterable[Source],
    others: Callable[[], Iterable[Source]],
    root: Path,
    read: Callable[[Path], Source | None],
    trees: "dict[Path, ast.Module | Problem]",
) -> tuple[Remark, ...]:
    """The remarks on the files that are asked about, in order of their places."""
    index = Index(root, [*sources, *others()], read, trees)
    modules = [module for each in asked if (module := index.module_at(each.path)) is not None]
    stacks = any(may_know_stacks(source.text) for path in index.paths if (source := index.source(path)) is not None)
    found: dict[Remark, None] = {}
    for module in modules:
        calls = list(candidates(module, stacks=stacks))
        seen = Seen(index, module)
        every = [each for call in calls for rule in _RULES for each in rule(seen, call)]
        every += optimised.remarks(index, module) if stacks else ()
        found |= dict.fromkeys(each for each in every if not _silenced(index, each))
    return tuple(sorted(found, key=lambda each: (str(each.place.path), each.place.span.start, each.rule)))


def _silenced(index: Index, remark: Remark) -> bool:
    """Whether a comment asks that nothing be said."""
    module = index.module_at(remark.place.path)
    if module is None or not module.writes(MARK):
        return False
    span = remark.place.span
    inside = [
        node
        for node in nodes_in(module.tree)
        if isinstance(node, ast.stmt) and module.span(node).start <= span.start and span.end <= module.span(node).end
    ]
    same = [node for node in nodes_in(module.tree) if isinstance(node, ast.expr) and module.span(node) == span]
    node = same[0] if same else max(inside, key=lambda each: module.span(each).start)
    return is_silenced(module, node, remark.rule)
