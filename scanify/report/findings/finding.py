"""The findings of `check` as every format reads them: frozen, with places in lines and columns."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from scanify.analysis.facts import Place
from scanify.analysis.plan import Analysis, Plan, Refusal, Remark, Skipped
from scanify.report.sentences import Once, found, plural, refused, shorten, shown
from scanify.source.notebook.magics import original

# A comment after the colon at the end of a line. It must contain no quote, in case the `#` is inside a string.
_HEAD = re.compile(r"(?<=:)[ \t]*#[^'\"]*$")
# Replaces the rule name for a file that could not be read.
SKIPPED = "skipped"


class Level(Enum):
    """Severity: an unreadable file, a loop that can be rewritten, or one that cannot."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Mark:
    """A range in a file. Lines and columns count from 1, columns in characters, and `end_column` is exclusive.

    `text` is the first line, unchanged. In a notebook, lines are numbered within the cell.
    """

    path: Path
    line: int
    column: int = 1
    end_line: int = 1
    end_column: int = 1
    text: str = ""
    cell: int | None = None

    @property
    def named(self) -> str:
        """The line as shown after the file name: `12`, or `cell 3:12` in a notebook."""
        return f"{self.line}" if self.cell is None else f"cell {self.cell}:{self.line}"

    @property
    def end(self) -> int:
        """The exclusive end column on the first line.

        For a loop over several lines, trailing blanks and a comment after its head are excluded.
        """
        if self.end_line == self.line:
            return min(self.end_column, len(self.text.rstrip()) + 1)
        return len(_HEAD.sub("", self.text).rstrip()) + 1


@dataclass(frozen=True)
class Finding:
    """One loop over layers, a remark, or a file that was not read.

    `hints` are further sentences, each with its kind. `related` is the place that the message mentions if it is not the
    loop itself. `framework` is the framework of the layers if the loop can be rewritten.
    """

    rule: str
    level: Level
    message: str
    mark: Mark
    hints: tuple[tuple[str, str], ...] = ()
    related: Mark | None = None
    fix: str | None = None
    framework: str = ""


@dataclass(frozen=True)
class Comment:
    """A suppression comment that suppresses nothing, with the message to report."""

    place: Place
    rule: str
    level: Level
    message: str


@dataclass(frozen=True)
class Reached:
    """The loops that commands ran: sentences about each loop, and the loops with at least two iterations."""

    said: Mapping[Place, tuple[str, ...]]
    shown: Set[Place]


@dataclass(frozen=True)
class Findings:
    """All findings, in order of path and line. Paths are shown relative to `folder`; `reached` is None unless commands
    were run.
    """

    analysis: Analysis
    items: tuple[Finding, ...]
    folder: Path
    colour: bool = False
    summary: bool = True
    comments: int = 0
    reached: Reached | None = None

    def path(self, mark: Mark) -> str:
        """The path as shown to people."""
        return shown(mark.path, self.folder)

    def uri(self, mark: Mark) -> str:
        """The path as other tools read it, with slashes."""
        path = mark.path
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else path.as_posix()

    def where(self, finding: Finding) -> str:
        """`model.py:12`, or only the path if the file was not read."""
        path = self.path(finding.mark)
        return path if finding.rule == SKIPPED else f"{path}:{finding.mark.named}"

    def fingerprints(self) -> tuple[str, ...]:
        """Identifiers that are unique per finding and do not change if lines are inserted above it."""
        seen: Counter[tuple[str, str, str]] = Counter()
        made = []
        for each in self.items:
            what = (self.uri(each.mark), each.rule, each.mark.text.strip())
            made.append(hashlib.sha256("\0".join((*what, str(seen[what]))).encode(errors="replace")).hexdigest()[:40])
            seen[what] += 1
        return tuple(made)

    def sentence(self) -> str:
        """The summary, in one sentence."""
        plans = [loop for loop in self.analysis.loops if isinstance(loop, Plan)]
        open_ = sum(isinstance(loop, Refusal) and loop.open for loop in self.analysis.loops)
        count = len(self.analysis.loops) - open_
        unsafe = sum(not plan.safe for plan in plans)
        files = plural(self.analysis.files, "file")
        if not count:
            text = f"No loop over layers in {files}"
        else:
            text = f"{plural(count, 'loop')} over layers in {files}: {len(plans)} can be rewritten"
            text += f" ({unsafe} unsafe)" if unsafe else ""
            text += f", {count - len(plans)} left alone" if count > len(plans) else ""
        hidden = self.analysis.undecided
        text += f"; {open_ + hidden} undecided{' (see --undecided)' if hidden else ''}" if open_ + hidden else ""
        text += f"; {plural(len(self.analysis.skipped), 'file')} skipped" if self.analysis.skipped else ""
        remarks = plural(len(self.analysis.remarks), "remark")
        text += f"; {remarks} on stacks and scans" if self.analysis.remarks else ""
        text += f"; {plural(self.comments, 'comment')} without effect" if self.comments else ""
        return f"{text}.{self._shown(plans)}"

    def _shown(self, plans: Sequence[Plan]) -> str:
        if self.reached is None or not plans:
            return ""
        count = sum(plan.place in self.reached.shown for plan in plans)
        return f" The run shows {count} of the {len(plans)} that can be rewritten."


def findings(
    analysis: Analysis,
    texts: Mapping[Path, str],
    folder: Path,
    *,
    comments: Iterable[Comment] = (),
    reached: Reached | None = None,
    colour: bool = False,
    summary: bool = True,
) -> Findings:
    """Collect the loops and remarks of an analysis and the comments without effect, then the files that were not read.

    `texts` holds the text of each file.
    """
    once = Once(folder)
    loops = [(loop.place, _loop(loop, texts, once, reached)) for loop in analysis.loops]
    said = list(comments)
    idle = [(each.place, Finding(each.rule, each.level, each.message, mark_of(each.place, texts))) for each in said]
    idle += [(each.place, _remark(each, texts, folder)) for each in analysis.remarks]
    both = sorted([*loops, *idle], key=lambda each: (str(each[0].path), each[0].span.start)) if idle else loops
    skipped = [_skipped(each, folder) for each in analysis.skipped]
    return Findings(analysis, (*(each for _, each in both), *skipped), folder, colour, summary, len(said), reached)


def _loop(loop: Plan | Refusal, texts: Mapping[Path, str], once: Once, reached: Reached | None) -> Finding:
    mark, folder = mark_of(loop.place, texts), once.folder
    runs = tuple(("run", text) for text in (reached.said.get(loop.place, ()) if reached is not None else ()))
    if isinstance(loop, Plan):
        obligations, notes = once.of(loop)
        hints = [
            *((f"unsafe ({each.kind.value})", each.text) for each in obligations),
            *(("note", each) for each in notes),
        ]
        fix = "safe" if loop.safe else "unsafe"
        return Finding(
            loop.rule, Level.WARNING, found(loop), mark, (*hints, *runs), fix=fix, framework=loop.framework.value
        )
    helps = (("help", shorten(loop.remedy, folder)),) if loop.remedy else ()
    related = mark_of(loop.at, texts) if loop.at is not None else None
    return Finding(loop.rule, Level.NOTE, refused(loop, folder), mark, (*helps, *runs), related)


def _remark(each: Remark, texts: Mapping[Path, str], folder: Path) -> Finding:
    related = mark_of(each.at, texts) if each.at is not None else None
    helps = (("help", shorten(each.remedy, folder)),) if each.remedy else ()
    message = shorten(each.reason, folder)
    return Finding(each.rule, Level.WARNING, message, mark_of(each.place, texts), helps, related)


def _skipped(each: Skipped, folder: Path) -> Finding:
    level = Level.ERROR if each.fails else Level.NOTE
    return Finding(SKIPPED, level, f"skipped: {shorten(each.reason, folder)}", Mark(each.path, 1))


def mark_of(place: Place, texts: Mapping[Path, str]) -> Mark:
    """Convert a place to lines and columns, or only lines if the text of the file is not in `texts`."""
    lines, text = place.cell or place.span, texts.get(place.path)
    number = place.cell.number if place.cell is not None else None
    if text is None:
        return Mark(place.path, lines.line, 1, lines.end_line, 1, "", number)
    first, last = _line_start(text, place.span.start), _line_start(text, place.span.end)
    line = text[first : _line_end(text, first)]
    return Mark(
        place.path,
        lines.line,
        place.span.start - first + 1,
        lines.end_line,
        place.span.end - last + 1,
        line if number is None else original(line),
        number,
    )


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _line_end(text: str, offset: int) -> int:
    ends = [at for at in (text.find("\n", offset), text.find("\r", offset)) if at >= 0]
    return min(ends, default=len(text))
