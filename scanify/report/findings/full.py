"""`scanify check --format full`: each finding with its source line, carets below the code it is about, and hints."""

import unicodedata
from collections.abc import Iterator

from scanify.report.findings.concise import head
from scanify.report.findings.finding import Finding, Findings, Mark
from scanify.report.findings.style import Style
from scanify.report.visible import visible

_TAB = "    "


def render(found: Findings) -> str:
    """Render the findings one below the other, and a summary."""
    lines: list[str] = []
    for each in found.items:
        lines += [head(found, each), *_source(found, each)]
        lines += [f"    {kind}: {visible(text)}" for kind, text in each.hints]
    lines += [found.sentence()] if found.summary else []
    return "".join(f"{line}\n" for line in lines)


def _source(found: Findings, each: Finding) -> Iterator[str]:
    """Yield the line of the loop and any related line, with carets and dashes below them."""
    style, related = Style(colour=found.colour), each.related
    if not each.mark.text:
        return
    also = related if related is not None and related.text and related.named != each.mark.named else None
    elsewhere = also is not None and (also.path, also.cell) != (each.mark.path, each.mark.cell)
    width = len(str(max(each.mark.line, also.line if also is not None else 0)))
    bar, empty = style.faint("|"), style.faint(f"{' ' * width} |")
    yield empty
    marks = [(each.mark, "^"), *([(also, "-")] if also is not None else [])]
    if not elsewhere:
        marks.sort(key=lambda one: one[0].line)
    last: Mark | None = None
    for mark, sign in marks:
        if last is not None and elsewhere:
            yield style.faint(f"{' ' * width}--> ") + visible(f"{found.path(mark)}:{mark.named}")
        elif last is not None and mark.line > last.line + 1:
            yield style.faint("...")
        before, meant, after = (mark.text[: mark.column - 1], mark.text[mark.column - 1 : mark.end - 1], "")
        after = mark.text[mark.end - 1 :].rstrip()
        yield f"{style.faint(str(mark.line).rjust(width))} {bar} {_drawn(before)}{_drawn(meant)}{_drawn(after)}"
        signs = sign * max(_columns(_drawn(meant)), 1)
        yield f"{empty} {' ' * _columns(_drawn(before))}{style.level(signs, each.level) if sign == '^' else signs}"
        last = mark


def _drawn(text: str) -> str:
    """Replace tabs and control characters by printable text."""
    return visible(text.replace("\t", _TAB))


def _columns(text: str) -> int:
    """The display width of a text: wide characters take two columns, combining characters none."""
    return sum(
        0 if unicodedata.combining(each) else 2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text
    )
