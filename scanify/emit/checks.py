"""The checks that every change must pass before it is written, as black checks its own output on every file.

Each covers one property, and for each there is a wrong change that only it catches.
"""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import libcst as cst

from scanify.analysis.plan import Plan
from scanify.analysis.stack import After, InitStack, Wrap
from scanify.emit.apply import new_stretches
from scanify.emit.edits import Edit
from scanify.emit.loops.annotations import beside
from scanify.emit.loops.comments import comments_in
from scanify.emit.loops.local_list import local_list
from scanify.emit.loops.loops_around import loops_around
from scanify.emit.names.unbound import names_of
from scanify.emit.text.loop_text import end_of_block
from scanify.emit.text.newlines import (
    indent_of,
    indent_width,
    line_of,
    line_start,
    line_stop,
    newline_counts,
    newline_of,
    previous_line,
)
from scanify.errors import CheckFailed

Stretch = tuple[int, int]


@dataclass(frozen=True)
class Change:
    """One file before and after, its edits, and the stretches of the old text that the plans cover."""

    path: Path
    before: str
    after: str
    edits: tuple[Edit, ...]
    planned: tuple[Stretch, ...]

    @cached_property
    def tree_before(self) -> cst.Module:
        return cst.parse_module(self.before)

    @cached_property
    def tree_after(self) -> cst.Module:
        return cst.parse_module(self.after)

    def new_stretches(self) -> list[Stretch]:
        """Return where the text of each edit lies in the new text."""
        return new_stretches(self.edits)


def failed(path: Path, line: int, check: str, expected: str, got: str) -> CheckFailed:
    """Build the error of a check, in the form common to all checks."""
    return CheckFailed(
        f"{path}:{line}: the rewrite failed the check `{check}`: expected {expected}, got {got}; nothing was written; "
        "this is a defect of scanify, please report it with the file"
    )


def still_parses(change: Change) -> None:
    """The new text is Python: for libcst, and for the running Python if it could compile the old text."""
    try:
        _ = change.tree_after
    except cst.ParserSyntaxError as error:
        raise failed(change.path, error.raw_line, "still parses", "Python", error.message) from None
    problem = _syntax_error(change.after) if _syntax_error(change.before) is None else None
    if problem is not None:
        raise failed(change.path, problem.lineno or 1, "still parses", "Python", problem.msg)


def _syntax_error(text: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "module", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except ValueError:  # a null character
        return SyntaxError("source code cannot contain null characters")
    return None


def only_planned_spans_differ(change: Change) -> None:
    """Every edit lies in a stretch that a plan covers, and the text between the edits is unchanged."""
    for edit in change.edits:
        if not any(start <= edit.start and edit.end <= end for start, end in change.planned):
            raise failed(
                change.path,
                line_of(change.before, edit.start),
                "only planned spans differ",
                "edits in the loops and lists of the plans",
                f"one elsewhere: {change.before[edit.start : edit.end]!r} to {edit.new!r}",
            )
    old = new = 0
    for edit, (start, end) in zip(change.edits, change.new_stretches(), strict=True):
        _same(change, change.before[old : edit.start], change.after[start - (edit.start - old) : start], old)
        old, new = edit.end, end
    _same(change, change.before[old:], change.after[new:], old)


def _same(change: Change, before: str, after: str, offset: int) -> None:
    if before == after:
        return
    at = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    raise failed(
        change.path,
        line_of(change.before, offset + at),
        "only planned spans differ",
        f"{before[at : at + 40]!r}",
        f"{after[at : at + 40]!r}",
    )


def comments_kept(change: Change) -> None:
    """Every comment is kept as often as it occurred, and none is new."""
    before, after = Counter(comments_in(change.tree_before)), Counter(comments_in(change.tree_after))
    if before == after:
        return
    lost, added = before - after, after - before
    comment = next(iter(lost or added))
    line = line_of(change.before, max(change.before.find(comment), 0)) if lost else 1
    got = f"{comment!r} {after[comment]} times" if lost else f"a new one, {comment!r}"
    expected = f"the comments as they were, {comment!r} {before[comment]} times"
    raise failed(change.path, line, "comments kept", expected, got)


def no_name_becomes_unbound(change: Change) -> None:
    """Every name that is read is bound, unless it was unbound before.

    This catches a temporary of the body that is read after the loop, and a missing import. If the file has a star
    import, a name that the file itself never bound is assumed to come from it.
    """
    before, after = names_of(change.before), names_of(change.after)
    lost = after.unbound - before.unbound
    if _has_star_import(change.tree_before):
        lost &= before.bound
    if lost:
        name = min(lost)
        found = re.search(rf"\b{re.escape(name)}\b", change.after)
        line = line_of(change.after, found.start()) if found else 1
        raise failed(change.path, line, "no name becomes unbound", f"`{name}` to be bound", "no binding of it")


def _has_star_import(tree: cst.Module) -> bool:
    return any(
        isinstance(small, cst.ImportFrom) and isinstance(small.names, cst.ImportStar)
        for statement in tree.body
        if isinstance(statement, cst.SimpleStatementLine)
        for small in statement.body
    )


def newline_style_kept(change: Change) -> None:
    """New lines have the line ends of the file."""
    style = newline_of(change.before)
    before, after = newline_counts(change.before), newline_counts(change.after)
    for other in after:
        if other != style and after[other] > before[other]:
            raise failed(
                change.path,
                1,
                "newline style kept",
                f"at most {before[other]} lines that end in {other!r} (the file's style is {style!r})",
                f"{after[other]}",
            )


CHECKS: tuple[Callable[[Change], None], ...] = (
    still_parses,
    only_planned_spans_differ,
    comments_kept,
    no_name_becomes_unbound,
    newline_style_kept,
)
"""The checks of one file. `second_run_changes_nothing` needs all files."""


def layout_changes_no_code(path: Path, before: str, after: str) -> None:
    """Laying out the rewritten text keeps the program and its comments."""
    same = ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    if not same or comments_in(cst.parse_module(before)) != comments_in(cst.parse_module(after)):
        at = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
        raise failed(path, line_of(before, at), "layout changes no code", "the same program", "another one")


def second_run_changes_nothing(changes: Sequence[Change], again: Iterable[Plan]) -> None:
    """No plan of a second run covers text that the first run wrote."""
    written = {change.path: (change, change.new_stretches()) for change in changes}
    for plan in again:
        sites = (*plan.stack.sites, *plan.stack.annotations) if isinstance(plan.stack, InitStack) else ()
        for place in (plan.place, *(site.place for site in sites)):
            if place.path not in written:
                continue
            change, stretches = written[place.path]
            if any(start < place.span.end and place.span.start < end for start, end in stretches):
                raise failed(
                    place.path,
                    line_of(change.after, place.span.start),
                    "a second run changes nothing",
                    "rewritten loops and lists to be left alone",
                    f"another plan for `{plan.container}` at {plan.place}",
                )


def planned_stretches(text: str, path: Path, plans: Sequence[Plan], imports: Sequence[Edit]) -> tuple[Stretch, ...]:
    """Return the stretches of a file's text that edits may touch: whole lines for loops, with blank lines around."""
    found = [(edit.start, edit.end) for edit in imports if edit.path == path]
    for plan in plans:
        if plan.place.path == path:
            found.append(_block(text, plan.place.span.start, max(plan.place.span.end, plan.body.span.end)))
            around = loops_around(text, found[-1][0] + len(indent_of(text[found[-1][0] :])), plan.place.span.end)
            found += [(around.front, around.front)] if around is not None else []
        for built in (plan.linen.module,) if plan.linen is not None else ():
            if built.site is not None and built.site.path == path:
                found.append((built.site.span.start, built.site.span.end))
        for site in (*plan.stack.sites, *plan.stack.annotations) if isinstance(plan.stack, InitStack) else ():
            if site.place.path == path:
                start, end = site.place.span.start, site.place.span.end
                found.append(_block(text, start, end) if isinstance(site, After) else (start, end))
                if isinstance(site, After):
                    found += (local_list(site, text) or ("", []))[1]
                if isinstance(site, Wrap):
                    found += beside(site, text)
    return tuple(found)


def _block(text: str, start: int, end: int) -> Stretch:
    """Return the stretch of a compound statement, with comment lines above it and those below in its body."""
    start += len(indent_of(text[start:]))
    start = line_start(text, start)
    column = indent_width(text[start : line_stop(text, start)])
    while start > 0 and text[previous_line(text, start) : start].lstrip().startswith("#"):
        start = previous_line(text, start)
    return start, end_of_block(text, end, column)


def check(changes: Sequence[Change]) -> None:
    """Run every check on each change. Raises CheckFailed at the first that fails."""
    for change in changes:
        for each in CHECKS:
            each(change)
