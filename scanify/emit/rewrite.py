"""From plans to texts: emit, import, apply, check, lay out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.analysis.stack import InitStack
from scanify.emit.apply import apply_all, apply_edits, composed, in_order
from scanify.emit.checks import (
    Change,
    check,
    layout_changes_no_code,
    planned_stretches,
    second_run_changes_nothing,
)
from scanify.emit.edits import Edit
from scanify.emit.helpers import helper_edits, helper_names
from scanify.emit.names.dead_stores import dead_stores
from scanify.emit.names.imports import Import, bind_all
from scanify.emit.names.unused_imports import unused_imports
from scanify.emit.policy import policy_expression
from scanify.emit.target import Context, Target
from scanify.emit.targets.every import SCANIFY, TARGETS
from scanify.emit.text.house_style import HouseStyle, house_style
from scanify.emit.tidy import tidied
from scanify.errors import CheckFailed, ScanifyError

Reanalyse = Callable[[Mapping[Path, str]], Sequence[Plan]]


def rewrite_texts(
    texts: Mapping[Path, str],
    plans: Sequence[Plan],
    *,
    remat: str | None = None,
    reanalyse: Reanalyse | None = None,
    target: str = SCANIFY,
) -> dict[Path, str]:
    """Carry out the plans, and return the new texts of the files that change.

    Args:
        texts: the decoded text of every file that a plan covers; newlines as in the file.
        plans: what to rewrite. Two plans may share the place where their list is built.
        remat: a checkpoint policy by name, or `"True"` or `"False"`; None leaves the runtime's default.
        reanalyse: finds the plans in new texts, to check that a second run changes nothing. It takes all texts. Without
            it, that check is skipped.
        target: what to rewrite to, one of `TARGETS`.

    Raises:
        ScanifyError: the policy or the target does not exist.
        CheckFailed: a check of the result failed, so nothing may be written.
    """
    if target not in TARGETS:
        raise ScanifyError(f"expected a target among {', '.join(TARGETS)}, got {target!r}")
    emitter = TARGETS[target]
    for plan in plans:
        if plan.framework is not emitter.FRAMEWORK:
            raise CheckFailed(
                f"{plan.place}: expected modules of {emitter.FRAMEWORK.value} for the target {target}, got some of "
                f"{plan.framework.value}; nothing was written; please report this"
            )
    policy = policy_expression(remat)
    needed = _needed(plans, emitter, policy)
    names, added = _bound(texts, needed, emitter)
    houses = {path: house_of(path, texts[path], plans) for path in files_of(plans)}
    context = Context(texts, names, houses, policy)
    made, others = emitter.edits(plans, context), emitter.elsewhere(plans, context)
    called = [*made, *others]
    helpers = [edit for path in names for edit in helper_edits(path, texts[path], called, emitter.HELPERS, names[path])]
    others = [*helpers, *others]
    imports = _imports(texts, [*others, *made], names, added, needed)
    edits = in_order([*imports, *others, *made])
    new = apply_all(texts, edits)
    changes = [
        Change(
            path=path,
            before=texts[path],
            after=after,
            edits=tuple(edit for edit in edits if edit.path == path),
            planned=planned_stretches(texts[path], path, plans, [*imports, *others]),
        )
        for path, after in sorted(new.items())
    ]
    check(changes)
    changes = [finished(change, houses[change.path]) for change in changes]
    new = {change.path: change.after for change in changes}
    if reanalyse is not None:
        second_run_changes_nothing(changes, reanalyse(dict(texts) | new))
    return new


def _needed(plans: Sequence[Plan], emitter: Target, policy: str | None) -> dict[Path, list[Import]]:
    """Return the imports that each file needs, in order."""
    needed = set().union(*(emitter.needed(plan, policy) for plan in plans))
    return {path: sorted(one for at, one in needed if at == path) for path in sorted({path for path, _ in needed})}


def _bound(
    texts: Mapping[Path, str], needed: Mapping[Path, Sequence[Import]], emitter: Target
) -> tuple[dict[Path, Mapping[str, str]], list[Edit]]:
    """Return the local names of imports and helpers in each file, and the edits that import them."""
    names: dict[Path, Mapping[str, str]] = {}
    imports: list[Edit] = []
    for path, wanted in needed.items():
        bindings = bind_all(path, texts[path], wanted)
        names[path] = {**bindings.names, **helper_names(texts[path], emitter.HELPERS, bindings.names)}
        if bindings.edit is not None:
            imports.append(bindings.edit)
    return names, imports


def _imports(
    texts: Mapping[Path, str],
    made: Sequence[Edit],
    names: Mapping[Path, Mapping[str, str]],
    added: Sequence[Edit],
    needed: Mapping[Path, Sequence[Import]],
) -> list[Edit]:
    """Return the edits of all imports: `added`, and those that remove imports which the new texts do not use."""
    found: list[Edit] = []
    for path, after in apply_all(texts, [*added, *made]).items():
        mine = [edit for edit in added if edit.path == path]
        places = [(edit.start, edit.end) for edit in made if edit.path == path]
        unused = [
            edit
            for edit in unused_imports(path, texts, after)
            if not any(start <= edit.end and edit.start <= end for start, end in places)
        ]
        fewer = apply_edits(texts[path], unused)
        bindings = bind_all(path, fewer, needed.get(path, ()))
        if unused and all(names[path][name] == local for name, local in bindings.names.items()):
            mine = composed(in_order(unused), [bindings.edit] if bindings.edit is not None else [], fewer)
        found += mine
    return found


def files_of(plans: Sequence[Plan]) -> set[Path]:
    """Return the files that the plans cover."""
    sites = (plan.stack for plan in plans if isinstance(plan.stack, InitStack))
    places = (each.place for stack in sites for each in (*stack.sites, *stack.annotations))
    return {plan.place.path for plan in plans} | {place.path for place in places}


def house_of(path: Path, text: str, plans: Sequence[Plan]) -> HouseStyle:
    """Return the style of a file; it counts as formatted only if the planned stretches are formatted too."""
    house = house_style(text)
    otherwise = tidied(path, text, planned_stretches(text, path, plans, []), house)
    return replace(house, formatted=house.formatted and not otherwise)


def finished(change: Change, house: HouseStyle) -> Change:
    """Remove dead stores from the change, and lay it out if a formatter has formatted the file."""
    change = followed_by(change, dead_stores(change.path, change.before, change.after))
    laid = followed_by(change, tidied(change.path, change.after, change.new_stretches(), house))
    if laid is not change:
        layout_changes_no_code(change.path, change.after, laid.after)
    return laid


def followed_by(change: Change, edits: Sequence[Edit]) -> Change:
    """Add further edits, of its new text, to the change."""
    if not edits:
        return change
    ordered = in_order(edits)
    after = apply_edits(change.after, ordered)
    return replace(change, after=after, edits=tuple(composed(change.edits, ordered, change.after)))
