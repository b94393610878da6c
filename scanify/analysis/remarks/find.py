"""All remarks on some files of a project."""

import ast
from collections.abc import Callable, Iterator, Sequence

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.ignores import about_span
from scanify.analysis.lower.nodes import by_kind
from scanify.analysis.plan import Remark
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.remarks import optimised
from scanify.analysis.remarks.scans import (
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

Rule = Callable[[View, ast.Call], Iterator[Remark]]
_OF_SCANS: tuple[Rule, ...] = (one_key.remarks, sliced.remarks)
# Rules about calls of a function, by the last part of its name.
_RULES: dict[str, tuple[Rule, ...]] = {
    "scan": (*_OF_SCANS, remat_around.remarks, shared_weights.remarks),
    "remat_scan": (shared_weights.remarks,),
    "merge": (graph_definitions.remarks,),
    **dict.fromkeys(("remat", "checkpoint", "filter_checkpoint"), (remat_around.remarks,)),
    **dict.fromkeys(("save_only_these_names", "save_and_offload_only_these_names"), (policy_names.remarks,)),
    "ScanCheckpointPolicy": (policy_names.remarks,),
}
_OF_STACKS: dict[str, tuple[Rule, ...]] = {
    **dict.fromkeys(("fold", "fold_via", "scan_via"), _OF_SCANS),
    "init": (optimised.remarks,),
}


def remarks_on(asked: Sequence[Source], index: Index) -> tuple[Remark, ...]:
    """Return the remarks on some files of a project, in order of their places."""
    project = ProjectFacts.of(index)
    stacks = any(may_know_stacks(source.text) for path in index.paths if (source := index.source(path)) is not None)
    found: dict[Remark, None] = {}
    for module in (each for source in asked if (each := index.module_at(source.path)) is not None):
        view = View(project, module)
        found |= dict.fromkeys(each for call, rule in _to_apply(module, stacks=stacks) for each in rule(view, call))
    told = (each for each in found if not _is_silenced(index, each))
    return tuple(sorted(told, key=lambda each: (str(each.place.path), each.place.span.start, each.rule)))


def _to_apply(module: Module, *, stacks: bool) -> Iterator[tuple[ast.Call, Rule]]:
    """Yield the calls of a file with the rules that may apply; `stacks` is true if the project uses stacks."""
    rules = _RULES | (_OF_STACKS if stacks else {})
    for statement in by_kind(module.tree)[ast.Assign] if stacks else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=run)], value=ast.Call(func=ast.Attribute(attr="fold_via"))):
                rules[run] = _OF_SCANS  # `run = stack.fold_via(f)`, which `run(x, mask)` applies
    for call in by_kind(module.tree)[ast.Call]:
        name = _last_name(call.func)
        if name == "partial" and call.args:
            name = _last_name(call.args[0])
        yield from ((call, rule) for rule in rules.get(name, ()))
        if any(isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Slice) for each in call.args):
            yield call, missing_key.remarks


def _last_name(function: ast.expr) -> str:
    """Return the last part of the name of a function, `fold_via` for `stack.fold_via(f)(x)`."""
    made = function.func if isinstance(function, ast.Call) else function
    return made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")


def _is_silenced(index: Index, remark: Remark) -> bool:
    """True if a comment silences the remark."""
    module = index.module_at(remark.place.path)
    comments = about_span(module, remark.place.span) if module is not None else ()
    return any(each.codes is None or each.names(remark.rule) for each in comments)
