"""All remarks on some files of a project."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.ignores import MARK, about
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Remark
from scanify.analysis.remarks.numbers import Numbers
from scanify.analysis.remarks.scans import one_layer, shared_weights
from scanify.analysis.remarks.seen import Seen
from scanify.analysis.remarks.words import SCANS
from scanify.source.file import Source

if TYPE_CHECKING:
    from scanify.analysis.index.parse import Problem

Rule = Callable[[Seen, ast.Call], Iterator[Remark]]
_RULES: tuple[Rule, ...] = (one_layer.remarks, shared_weights.remarks)
# The last parts of the names of what the rules ask about.
_CALLED = frozenset("scan remat_scan init partial fold fold_via scan_via".split())


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
    calls = [(module, call) for module in modules if SCANS.search(module.text) for call in _calls(module)]
    numbers = Numbers(index, calls)
    found: dict[Remark, None] = {}
    for module, call in calls:
        seen = Seen(index, module, numbers)
        found |= dict.fromkeys(each for rule in _RULES for each in rule(seen, call) if not _silenced(module, each))
    return tuple(sorted(found, key=lambda each: (str(each.place.path), each.place.span.start, each.rule)))


def _calls(module: Module) -> Iterator[ast.Call]:
    """The calls of a file that a rule may be about."""
    names = _CALLED | {
        local for local, target in module.imports.items() if target.rpartition(".")[2] in _CALLED and local != target
    }
    for node in nodes_in(module.tree):
        if isinstance(node, ast.Call):
            function = node.func.func if isinstance(node.func, ast.Call) else node.func
            last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
            if last in names:
                yield node


def _silenced(module: Module, remark: Remark) -> bool:
    """Whether a comment asks that nothing be said."""
    if not module.writes(MARK):
        return False
    span = remark.place.span
    inside = [
        node
        for node in nodes_in(module.tree)
        if isinstance(node, ast.stmt) and module.span(node).start <= span.start and span.end <= module.span(node).end
    ]
    same = [node for node in nodes_in(module.tree) if isinstance(node, ast.expr) and module.span(node) == span]
    node = same[0] if same else max(inside, key=lambda each: module.span(each).start)
    return any(
        each.codes is None or any(code and remark.rule.startswith(code.upper()) for code in each.codes)
        for each in about(module, node)
    )
