"""The files that an editor has open, with what was found in them: findings move with the lines that they stand on."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from scanify.report.findings.finding import Finding
from scanify.server.jobs import Open
from scanify.source.notebook.text import LINE_END


@dataclass
class Document:
    """An open file. `findings` are those of `text`, after it was edited with those that could be kept; `whole` is the
    text that the project was last analysed with, and `seen` the findings of that."""

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
        """The text is another one: what was found stays with its lines, and goes where they changed. Of a text that the
        project was analysed with, after an undo, all is known."""
        self.findings = self.seen if text == self.whole else moved(self.findings, self.text, text)
        self.text, self.version = text, version

    def answered(self, text: str, findings: tuple[Finding, ...]) -> None:
        """All that is found in a text, which need not be the present one."""
        self.whole, self.seen = text, findings
        self.findings = moved(findings, text, self.text)

    def answered_partly(self, text: str, lines: tuple[int, int], findings: tuple[Finding, ...]) -> None:
        """What is found of loops in some statements of a text. Remarks and comments are for the project to say."""
        first, last = lines
        kept = moved(self.seen, self.whole, text) if self.whole is not None else ()
        others = tuple(each for each in kept if not first <= each.mark.line <= last or each.rule.startswith("SCN3"))
        self.findings = moved((*others, *findings), text, self.text)

    def dirty(self) -> tuple[int, int]:
        """The lines that changed since the project was last analysed; where lines went, those around the place."""
        lines = split(self.text)
        if self.whole is None:
            return 1, len(lines)
        first, last, _ = changed(split(self.whole), lines)
        return max(first, 1), max(last, first + 1)


@dataclass
class Notebook:
    """An open notebook. `cells` are its cells with their texts, None for those that are no Python."""

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
        """What was found stays in the cells whose text is the same."""
        same = set(cells)
        kept = {uri for uri, text in self.cells if (uri, text) in same}
        self.findings = {uri: found for uri, found in self.findings.items() if uri in kept}
        self.cells, self.version = cells, version

    def answered(self, cells: list[tuple[str, str | None]], findings: tuple[Finding, ...]) -> None:
        """All that is found in some cells, which need not be the present ones."""
        same = set(self.cells)
        self.findings = {uri: () for uri, _ in self.cells}
        for each in findings:
            uri, text = cells[(each.mark.cell or 1) - 1]
            if (uri, text) in same:
                self.findings[uri] = (*self.findings[uri], each)


def split(text: str) -> list[str]:
    """The lines of a text, without their ends."""
    return LINE_END.split(text)


def changed(old: list[str], new: list[str]) -> tuple[int, int, int]:
    """The first and the last line (from 1) of the new text that are others, and by how much those below have moved.

    Where lines only went, the last one is the one before the first.
    """
    most = min(len(old), len(new))
    above = next((at for at in range(most) if old[at] != new[at]), most)
    below = next((at for at in range(most - above) if old[-1 - at] != new[-1 - at]), most - above)
    return above + 1, len(new) - below, len(new) - len(old)


def moved(findings: Iterable[Finding], old: str, new: str) -> tuple[Finding, ...]:
    """The findings of one text in another: those on lines that changed are left out."""
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
            # something in the body changed: the head still says what it said
            kept.append(replace(each, mark=replace(mark, end_line=max(mark.end_line + by, mark.line))))
    return tuple(kept)
