"""The open files of an editor and their findings, which move along with their lines."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from scanify.report.findings.finding import Finding
from scanify.server.jobs import Open
from scanify.source.notebook.text import LINE_END


@dataclass
class Document:
    """An open file.

    `findings` belong to `text`; after an edit, they are the findings that could be kept. `whole` is the text of the
    last project analysis, and `seen` are its findings.
    """

    path: Path
    root: Path
    uri: str
    text: str
    version: int
    findings: tuple[Finding, ...] = ()
    whole: str | None = None
    seen: tuple[Finding, ...] = ()

    @property
    def opened(self) -> Open:
        return Open(self.path, self.text)

    def edited(self, text: str, version: int) -> None:
        """Update the text and move findings with their lines, dropping those on changed lines.

        If the text is that of the last project analysis, for example after an undo, all its findings are restored.
        """
        self.findings = self.seen if text == self.whole else moved(self.findings, self.text, text)
        self.text, self.version = text, version

    def answered(self, text: str, findings: tuple[Finding, ...]) -> None:
        """Store all findings of a text, which need not be the current one."""
        self.whole, self.seen = text, findings
        self.findings = moved(findings, text, self.text)

    def answered_partly(self, text: str, lines: tuple[int, int], findings: tuple[Finding, ...]) -> None:
        """Store the loops found in some statements of a text. Only a project analysis finds remarks and comments."""
        first, last = lines
        kept = moved(self.seen, self.whole, text) if self.whole is not None else ()
        others = tuple(each for each in kept if not first <= each.mark.line <= last or each.rule.startswith("SCN3"))
        self.findings = moved((*others, *findings), text, self.text)

    def dirty(self) -> tuple[int, int]:
        """Return the lines changed since the last project analysis, or the lines next to removed ones."""
        lines = split(self.text)
        if self.whole is None:
            return 1, len(lines)
        first, last, _ = changed(split(self.whole), lines)
        return max(first, 1), max(last, first + 1)


@dataclass
class Notebook:
    """An open notebook. `cells` holds the URI and text of each cell; the text is None if it is not Python."""

    path: Path
    root: Path
    uri: str
    cells: list[tuple[str, str | None]]
    version: int
    findings: dict[str, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def opened(self) -> Open:
        numbered = enumerate(self.cells, start=1)
        return Open(self.path, cells=tuple((number, text) for number, (_, text) in numbered if text is not None))

    def edited(self, cells: list[tuple[str, str | None]], version: int) -> None:
        """Update the cells; findings are kept in cells whose text is unchanged."""
        same = set(cells)
        kept = {uri for uri, text in self.cells if (uri, text) in same}
        self.findings = {uri: found for uri, found in self.findings.items() if uri in kept}
        self.cells, self.version = cells, version

    def answered(self, cells: list[tuple[str, str | None]], findings: tuple[Finding, ...]) -> None:
        """Store all findings of some cells, which need not be the current ones."""
        same = set(self.cells)
        self.findings = {uri: () for uri, _ in self.cells}
        for each in findings:
            uri, text = cells[(each.mark.cell or 1) - 1]
            if (uri, text) in same:
                self.findings[uri] = (*self.findings[uri], each)


def split(text: str) -> list[str]:
    """Split a text into lines, without line ends."""
    return LINE_END.split(text)


def changed(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """Return the first and last changed line (from 1) of the new text, and the offset of the lines below.

    If lines were only removed, the last line is the one before the first.
    """
    most = min(len(old), len(new))
    above = next((at for at in range(most) if old[at] != new[at]), most)
    below = next((at for at in range(most - above) if old[-1 - at] != new[-1 - at]), most - above)
    return above + 1, len(new) - below, len(new) - len(old)


def moved(findings: Iterable[Finding], old: str, new: str) -> tuple[Finding, ...]:
    """Move the findings of one text to another, leaving out findings on changed lines."""
    if old == new:
        return tuple(findings)
    before = split(old)
    first, last, by = changed(before, split(new))
    kept = []
    for each in findings:
        mark = each.mark
        if mark.end_line < first:
            kept.append(each)
        elif mark.line > last - by:
            kept.append(replace(each, mark=replace(mark, line=mark.line + by, end_line=mark.end_line + by)))
        elif not first <= mark.line <= last - by:
            # only the body changed, so the finding on the head is kept
            kept.append(replace(each, mark=replace(mark, end_line=max(mark.end_line + by, mark.line))))
    return tuple(kept)
