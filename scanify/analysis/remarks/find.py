"""All remarks on some files of a project."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.ignores import about_span
from scanify.analysis.lower.nodes import by_kind
from scanify.analysis.plan import Remark
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.remarks import optimised
from scanify.analysis.remarks.scans import (
    cast_carry,
    graph_definitions,
    missing_key,
    one_key,
    policy_names,
    remat_around,
    shared_weights,
    sliced,
)
from scanify.analysis.remarks.view import View
from scanify.analysis.remarks.words import may_know_stacks
from scanify.source.file import Source

if TYPE_CHECKING:
    from scanify.analysis.index.parse import Problem

# The last parts of the names of the functions that rules are about, and of the methods of stacks and optimisers.
_FUNCTIONS = frozenset(
    """scan remat_scan partial remat checkpoint filter_checkpoint merge save_only_these_names
    save_and_offload_only_these_names ScanCheckpointPolicy vmap filter_vmap""".split()
)
_METHODS = frozenset("fold fold_via scan_via init".split())
_RULES: tuple[Callable[[View, ast.Call], Iterator[Remark]], ...] = tuple(
    each.remarks
    for each in (
        one_key,
        sliced,
        remat_around,
        policy_names,
        shared_weights,
        missing_key,
        graph_definitions,
        cast_carry,
        optimised,
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
    """Return the remarks on the files that are asked about, in order of their places."""
    index = Index(root, [*sources, *others()], read, trees)
    project = ProjectFacts.of(index)
    stacks = any(may_know_stacks(source.text) for path in index.paths if (source := index.source(path)) is not None)
    found: dict[Remark, None] = {}
    for module in (each for source in asked if (each := index.module_at(source.path)) is not None):
        view = View(project, module)
        calls = list(_candidates(module, stacks=stacks))
        found |= dict.fromkeys(each for call in calls for rule in _RULES for each in rule(view, call))
    told = (each for each in found if not _is_silenced(index, each))
    return tuple(sorted(told, key=lambda each: (str(each.place.path), each.place.span.start, each.rule)))


def _candidates(module: Module, *, stacks: bool) -> Iterator[ast.Call]:
    """Yield the calls that a rule may be about, by their names; `stacks` is true if the project knows stacks at all."""
    names = {name for name, target in module.imports.items() if target.rpartition(".")[2] in _FUNCTIONS}
    names |= _FUNCTIONS | (_METHODS if stacks else frozenset())
    for statement in by_kind(module.tree)[ast.Assign] if stacks else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="fold_via"))):
                names.add(name)  # `run = stack.fold_via(f)`, which `run(x, mask)` applies
    for call in by_kind(module.tree)[ast.Call]:
        made = call.func.func if isinstance(call.func, ast.Call) else call.func  # `vmap` of `jax.vmap(f)(x)`
        last = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
        sliced = any(isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice) for each in call.args)
        if last in names or sliced:  # `build(keys[1:-1])`, where a name stands for a function that is mapped
            yield call


def _is_silenced(index: Index, remark: Remark) -> bool:
    """True if a comment asks that the remark is not made."""
    module = index.module_at(remark.place.path)
    comments = about_span(module, remark.place.span) if module is not None else ()
    return any(each.codes is None or each.names(remark.rule) for each in comments)
