"""From plans to texts: emit, import, apply, check."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.emit import array_stacked
from scanify.emit.apply import apply_all, in_order
from scanify.emit.checks import Change, check, planned_stretches
from scanify.emit.edits import Edit
from scanify.emit.imports import bind_all
from scanify.emit.target import Context, Target
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
    names: dict[Path, Mapping[str, str]] = {}
    imports: list[Edit] = []
    needed = set().union(*(emitter.needed(plan) for plan in plans))
    for path in sorted({path for path, _ in needed}):
        bindings = bind_all(path, texts[path], emitter.MODULE, sorted(name for at, name in needed if at == path))
        names[path] = bindings.names
        if bindings.edit is not None:
            imports.append(bindings.edit)
    edits = in_order([*imports, *emitter.edits(plans, Context(texts, names, policy))])
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
    check(changes, texts, reanalyse)
    return new


def policy_expression(remat: str | None) -> str | None:
    """A policy as it stands in source: `"nested"` with quotes, `True` and `False` without. Raises ScanifyError."""
    if remat is None:
        return None
    if remat.capitalize() in ("True", "False"):
        return remat.capitalize()
    if remat in POLICIES:
        return f'"{remat}"'
    raise ScanifyError(f"expected a checkpoint policy among {', '.join(POLICIES)}, True, False, got {remat!r}")
