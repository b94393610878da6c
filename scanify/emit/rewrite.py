"""From plans to texts: emit, import, apply, check, lay out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.plan import InitStack, Plan
from scanify.emit.apply import apply_all, apply_edits, composed, in_order
from scanify.emit.checks import (
    Change,
    check,
    layout_changes_no_code,
    planned_stretches,
    second_run_changes_nothing,
)
from scanify.emit.edits import Edit
from scanify.emit.loops import array_stacked
from scanify.emit.names.dead_stores import dead_stores
from scanify.emit.names.imports import bind_all
from scanify.emit.names.unused_imports import unused_imports
from scanify.emit.target import Context, Target
from scanify.emit.text.house_style import HouseStyle, house_style
from scanify.emit.tidy import tidied
from scanify.errors import ScanifyError

TARGETS: dict[str, Target] = {"array-stacked": array_stacked}

POLICIES = ("full", "nested", "offload", "save_all", "dots")
"""The policies that have a name. True and False are policies too."""

Reanalyse = Callable[[Mapping[Path, str]], Sequence[Plan]]


def rewrite_texts(
    texts: Mapping[Path, str],
    plans: Sequence[Plan],
    *,
    remat: str | None = None,
    reanalyse: Reanalyse | None = None,
    target: str = "array-stacked",
) -> dict[Path, str]:
    """Carry out the plans: the new texts of the files that change.

    Args:
        texts: the decoded text of every file that a plan speaks of; newlines as in the file.
        plans: what to rewrite. Two plans may share the place where their list is built.
        remat: a checkpoint policy by name, or `"True"` or `"False"`; None leaves the runtime's default.
        reanalyse: finds the plans in new texts, for the check that a second run changes nothing. It is given all
            texts. Without it that check is left out.
        target: what to rewrite to, one of `TARGETS`.

    Raises:
        ScanifyError: the policy or the target does not exist.
        CheckFailed: a check of the result failed. Nothing may be written then.
    """
    if target not in TARGETS:
        raise ScanifyError(f"expected a target among {', '.join(TARGETS)}, got {target!r}")
    emitter = TARGETS[target]
    policy = policy_expression(remat)
    names, added = _bound(plans, texts, emitter)
    houses = {path: house_of(path, texts[path], plans) for path in files_of(plans)}
    made = emitter.edits(plans, Context(texts, names, houses, policy))
    imports = _imports(texts, made, names, added, emitter.MODULE)
    edits = in_order([*imports, *made])
    new = apply_all(texts, edits)
    changes = [
        Change(
            path=path,
            before=texts[path],
            after=after,
            edits=tuple(edit for edit in edits if edit.path == path),
            planned=planned_stretches(texts[path], path, plans, imports),
        )
        for path, after in sorted(new.items())
    ]
    check(changes)
    changes = [finished(change, houses[change.path]) for change in changes]
    new = {change.path: change.after for change in changes}
    if reanalyse is not None:
        second_run_changes_nothing(changes, reanalyse(dict(texts) | new))
    return new


def _bound(
    plans: Sequence[Plan], texts: Mapping[Path, str], emitter: Target
) -> tuple[dict[Path, Mapping[str, str]], list[Edit]]:
    """The local names of the target's classes in each file that needs them, and the edits that import them."""
    names: dict[Path, Mapping[str, str]] = {}
    imports: list[Edit] = []
    needed = set().union(*(emitter.needed(plan) for plan in plans))
    for path in sorted({path for path, _ in needed}):
        bindings = bind_all(path, texts[path], emitter.MODULE, sorted(name for at, name in needed if at == path))
        names[path] = bindings.names
        if bindings.edit is not None:
            imports.append(bindings.edit)
    return names, imports


def _imports(
    texts: Mapping[Path, str],
    made: Sequence[Edit],
    names: Mapping[Path, Mapping[str, str]],
    added: Sequence[Edit],
    library: str,
) -> list[Edit]:
    """The edits of all imports: `added`, and those that take out what the new texts have no use for any more."""
    found: list[Edit] = []
    for path, after in apply_all(texts, [*added, *made]).items():
        mine = [edit for edit in added if edit.path == path]
        places = [(edit.start, edit.end) for edit in made if edit.path == path]
        unused = [
            edit
            for edit in unused_imports(path, texts, after)
            if not any(start <= edit.end and edit.start <= end for start, end in places)
        ]
        known = names.get(path, {})
        fewer = apply_edits(texts[path], unused)
        bindings = bind_all(path, fewer, library, sorted(known))
        if unused and bindings.names == known:
            mine = composed(in_order(unused), [bindings.edit] if bindings.edit is not None else [], fewer)
        found += mine
    return found


def files_of(plans: Sequence[Plan]) -> set[Path]:
    """The files that the plans speak of."""
    sites = (plan.stack for plan in plans if isinstance(plan.stack, InitStack))
    places = (each.place for stack in sites for each in (*stack.sites, *stack.annotations))
    return {plan.place.path for plan in plans} | {place.path for place in places}


def house_of(path: Path, text: str, plans: Sequence[Plan]) -> HouseStyle:
    """How a file is laid out, where what the plans speak of is laid out so too."""
    house = house_style(text)
    otherwise = tidied(path, text, planned_stretches(text, path, plans, []), house)
    return replace(house, formatted=house.formatted and not otherwise)


def finished(change: Change, house: HouseStyle) -> Change:
    """The change without what it left unread, laid out as a formatter would where one has formatted the file."""
    change = followed_by(change, dead_stores(change.path, change.before, change.after))
    laid = followed_by(change, tidied(change.path, change.after, change.new_stretches(), house))
    if laid is not change:
        layout_changes_no_code(change.path, change.after, laid.after)
    return laid


def followed_by(change: Change, edits: Sequence[Edit]) -> Change:
    """The change with further edits of its new text."""
    if not edits:
        return change
    ordered = in_order(edits)
    after = apply_edits(change.after, ordered)
    return replace(change, after=after, edits=tuple(composed(change.edits, ordered, change.after)))


def policy_expression(remat: str | None) -> str | None:
    """A policy as it stands in source: `"nested"` with quotes, `True` and `False` without. Raises ScanifyError."""
    if remat is None:
        return None
    if remat.capitalize() in ("True", "False"):
        return remat.capitalize()
    if remat in POLICIES:
        return f'"{remat}"'
    raise ScanifyError(f"expected a checkpoint policy among {', '.join(POLICIES)}, True, False, got {remat!r}")
