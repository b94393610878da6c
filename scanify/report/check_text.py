"""`scanify check` for people: one line a loop, as a linter prints it, and one line that sums up."""

from pathlib import Path

from scanify.analysis.plan import Analysis, Plan, Refusal
from scanify.report.sentences import found, plural, refused, shorten, shown, where


def render(analysis: Analysis, folder: Path) -> str:
    """The report, with paths relative to `folder`; every line ends with a newline."""
    lines: list[str] = []
    for loop in analysis.loops:
        head = f"{where(loop.place, folder)}: {loop.rule}"
        if isinstance(loop, Plan):
            lines.append(f"{head} {found(loop)}")
            lines += [f"    unsafe: {shorten(each, folder)}" for each in loop.obligations]
            lines += [f"    note: {shorten(each, folder)}" for each in loop.notes]
        else:
            lines.append(f"{head} {refused(loop, folder)}")
            lines += [f"    help: {shorten(loop.remedy, folder)}"] if loop.remedy else []
    lines += [f"{shown(each.path, folder)}: skipped: {shorten(each.reason, folder)}" for each in analysis.skipped]
    lines.append(_summary(analysis))
    return "".join(f"{line}\n" for line in lines)


def _summary(analysis: Analysis) -> str:
    plans = [loop for loop in analysis.loops if isinstance(loop, Plan)]
    refusals = [loop for loop in analysis.loops if isinstance(loop, Refusal)]
    unsafe = sum(not plan.safe for plan in plans)
    files = plural(analysis.files, "file")
    if not analysis.loops:
        text = f"No loop over layers in {files}"
    else:
        text = f"{plural(len(analysis.loops), 'loop')} over layers in {files}: {len(plans)} can be rewritten"
        text += f" ({unsafe} unsafe)" if unsafe else ""
        text += f", {len(refusals)} left alone" if refusals else ""
    text += f"; {plural(len(analysis.skipped), 'file')} skipped" if analysis.skipped else ""
    return f"{text}."
