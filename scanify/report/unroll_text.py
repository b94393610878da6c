"""The summary at the end of `scanify unroll`: the scans that became loops, and those that did not, with reasons."""

from collections.abc import Sequence
from pathlib import Path

from scanify.analysis.plan import Skipped
from scanify.emit.unroll.unroll_texts import Turned
from scanify.report.sentences import listed, plural, shorten, shown
from scanify.unrolling.project import Unrolling

_LAYOUT = (
    "    note: where a list is built again, each layer has its own parameters, so checkpoints of the stack do not "
    "load: `scanify convert OLD NEW --unstack PATTERN --axis 0` makes new ones (--axis 1 in an "
    "ensemble)"
)


def render(
    found: Unrolling,
    folder: Path,
    skipped: Sequence[Skipped],
    *,
    changed: int,
    written: bool,
    verified: bool,
    advice: str,
) -> str:
    """Render the summary, with paths relative to `folder`.

    `written` is true if the files have been changed. `advice` says what to do about scans that were held back.
    """
    verb = "" if written else "would be "
    lines = [f"{shown(path, folder)}: {verb}what it was before it was rewritten" for path in found.restored]
    held = bool(found.held)
    for each in found.turned:
        what = "can be a loop, but that is unsafe" if held else f"{'is' if written else 'would be'} a loop over a list"
        lines.append(f"{_where(each, folder)}: `{each.container}.{each.method}` {what}")
    if held or not verified:
        lines += [f"    unsafe: {shorten(each, folder)}" for each in found.obligations]
    if held:
        lines.append(f"    help: {advice}")
    else:
        lines += _policies(found, folder)
        if changed:
            lines.append(_LAYOUT)
    for each in found.left:
        name = f"`{each.container}{'.' if each.method else ''}{each.method}`"
        lines.append(f"{_where(each, folder)}: {name} stays as it is: {each.why}")
    if found.beyond:
        others = listed(shown(path, folder) for path in found.beyond)
        lines.append(f"what is stacked here can be turned back together with {others}; name {others} too")
    lines += [f"{shown(each.path, folder)}: skipped: {shorten(each.reason, folder)}" for each in skipped]
    lines.append(_counts(found, changed, written))
    return "".join(f"{line}\n" for line in lines)


def _where(each: Turned, folder: Path) -> str:
    return f"{shown(each.path, folder)}:{each.line}"


def _policies(found: Unrolling, folder: Path) -> list[str]:
    """Explain what happens to remat policies: a loop saves everything that its layers compute."""
    said: Sequence[tuple[Path, int, str]] = found.policies
    return [
        f"{shown(path, folder)}:{line}: the policy {policy} of the stack is gone: a loop keeps all that its backward "
        "pass needs; `eqx.filter_checkpoint(layer)(x)` computes a layer again"
        for path, line, policy in said
        if policy not in ("False", '"save_all"', "'save_all'")
    ]


def _counts(found: Unrolling, changed: int, written: bool) -> str:
    files = plural(changed, "file")
    if changed:
        text = f"{files} unrolled" if written else f"{files} would be unrolled"
    else:
        text = "Nothing to unroll"
    text += f"; {plural(len(found.turned), 'scan')} held back" if found.held else ""
    text += f"; {plural(len(found.left), 'place')} left alone" if found.left else ""
    return f"{text}."
