"""The summary at the end of `scanify rewrite`: the loops that were rewritten, left alone (and why), or unsafe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.linen_layers import RenamedLayers
from scanify.analysis.obligation import ACCEPTABLE
from scanify.analysis.plan import Plan
from scanify.analysis.stack import CallStack
from scanify.pipeline import Outcome, files_of
from scanify.report.sentences import (
    DISCHARGE,
    UNREACHED,
    Once,
    accept,
    listed,
    plural,
    refused,
    shorten,
    shown,
    unshown,
    where,
)
from scanify.source.notebook.text import is_notebook

if TYPE_CHECKING:
    from scanify.emit.policies import NewPolicy  # imports libcst

_NOTEBOOK = "no case can import a notebook; write it unverified with --unsafe (--unsafe --diff shows it)"


def render(
    outcome: Outcome,
    folder: Path,
    *,
    written: bool,
    verified: bool = False,
    proofs: Mapping[Place, str] = MappingProxyType({}),
) -> str:
    """Render the summary, with paths relative to `folder`.

    `written` is true if the files have been changed. `proofs` holds the command lines that would prove loops held back.
    """
    lines: list[str] = []
    once = Once(folder)
    for plan in outcome.applied:
        lines += _applied(plan, once, "rewrote" if written else "would rewrite", verified=verified)
    lines += [_policy(each, folder, written=written) for each in outcome.policies]
    for plan in outcome.held:
        short = outcome.short.get(plan.place)
        why = "the fix is unsafe" if short is None else short.why
        lines.append(f"{_where(plan, folder)} the loop over {plan.container} can be rewritten, but {why}")
        lines += [f"    unsafe ({each.kind.value}): {each}" for each in (() if short else once.of(plan)[0])]
        lines.append(f"    help: {_advice(plan, outcome, proofs, verified=verified) if short is None else short.help}")
    for plan, files in outcome.beyond:
        others = listed(shown(path, folder) for path in files)
        lines.append(f"{_where(plan, folder)} the loop over {plan.container} can be rewritten together with {others}")
        lines.append(f"    help: name {others} too, or leave the list as it is with --stack call")
    for refusal in (each for each in outcome.refused if not each.open):
        lines.append(f"{where(refusal.place, folder)}: {refusal.rule} {refused(refusal, folder)}")
        lines += [f"    help: {shorten(refusal.remedy, folder)}"] if refusal.remedy else []
    for skipped in outcome.analysis.skipped:
        lines.append(f"{shown(skipped.path, folder)}: skipped: {shorten(skipped.reason, folder)}")
    lines.append(_counts(outcome, folder, written=written))
    return "".join(f"{line}\n" for line in lines)


def _policy(each: NewPolicy, folder: Path, *, written: bool) -> str:
    """Describe what happens to the policy of an existing stack."""
    place = f"{shown(each.path, folder)}:{each.line}"
    if each.why:
        return f"{place}: the stack keeps its policy {each.old}: {each.why}"
    return f"{place}: the stack {'has' if written else 'would have'} the policy {each.new}, not {each.old or 'True'}"


def _advice(plan: Plan, outcome: Outcome, proofs: Mapping[Place, str], *, verified: bool) -> str:
    if any(map(is_notebook, files_of(plan))):
        return _NOTEBOOK
    if plan in outcome.beyond_cases or set(plan.obligations) <= set(plan.beyond_cases()):
        return accept(kind for kind in ACCEPTABLE if plan.beyond_cases() != plan.beyond_cases({kind}))
    if plan.place in proofs:
        return f"prove it with `{proofs[plan.place]}`, or write it unverified with --unsafe (--unsafe --diff shows it)"
    return UNREACHED if verified else DISCHARGE


def _applied(plan: Plan, once: Once, verb: str, *, verified: bool) -> list[str]:
    folder = once.folder
    how = "the list is stacked inside the call" if isinstance(plan.stack, CallStack) else "the list is built stacked"
    if plan.linen is not None:
        how = f"one module, `{plan.linen.renamed.scan}`, holds the variables of all layers"
    others = sorted(shown(path, folder) for path in files_of(plan) - {plan.place.path})
    also = f", in {listed(others)}" if others else ""
    what = f"{verb} the loop over {plan.container} as a {plan.kind.value}; {how}{also}"
    verified = verified and not any(map(is_notebook, files_of(plan)))  # no case can import a notebook
    obligations, notes = once.of(replace(plan, obligations=plan.beyond_cases()) if verified else plan)
    notes += [_renamed(plan.linen.renamed)] if plan.linen is not None else []
    says = "not shown by a case" if verified else "unsafe"
    lines = [f"    {says} ({each.kind.value}): {each}" for each in obligations]
    return [f"{_where(plan, folder)} {what}", *lines, *(f"    note: {each}" for each in notes)]


def _renamed(layers: RenamedLayers) -> str:
    """Explain how to convert Flax Linen checkpoints, whose trees contain the names of the layers."""
    loop = layers.loop.replace("{}", f"{{{layers.first}}}") if layers.first else layers.loop
    # A bare number also occurs elsewhere, for example in the state of an optimiser.
    anywhere = "params." if loop.startswith("{") else "*"
    nested = " --nested" if layers.nested else ""
    return (
        "checkpoints from before do not load: `scanify convert OLD NEW --stack "
        f"'{anywhere}{loop}={anywhere}{layers.scan}'{nested} --axis 0` makes new ones (--axis 1 in an ensemble)"
    )


def _where(plan: Plan, folder: Path) -> str:
    return f"{where(plan.place, folder)}: {plan.rule}"


def _counts(outcome: Outcome, folder: Path, *, written: bool) -> str:
    loops, files = plural(len(outcome.applied), "loop"), plural(len(outcome.changes), "file")
    if outcome.applied:
        text = f"{loops} rewritten in {files}" if written else f"{loops} would be rewritten in {files}"
    elif any(not each.why for each in outcome.policies):
        text = f"Policies changed in {files}" if written else f"Policies would change in {files}"
    else:
        text = f"Nothing to rewrite in {plural(outcome.analysis.files, 'file')}"
    text += f"; {plural(len(outcome.held), 'loop')} held back" if outcome.held else ""
    text += f" ({unshown(outcome.beyond_cases, folder)}; see --accept)" if outcome.beyond_cases else ""
    text += f"; {plural(len(outcome.beyond), 'loop')} waiting for other files" if outcome.beyond else ""
    stays = [each for each in outcome.refused if each.undecided is None or each.undecided not in outcome.held]
    open_ = sum(each.open for each in stays)
    alone = len(stays) - open_
    text += f"; {plural(alone, 'loop')} left alone" if alone else ""
    text += f"; {open_} undecided (`scanify check --undecided` shows them)" if open_ else ""
    text += f"; {plural(len(outcome.analysis.skipped), 'file')} skipped" if outcome.analysis.skipped else ""
    return f"{text}."
