"""Parse a unified diff into files and lines, each line marked as added, removed or kept."""

import re
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_KINDS = {"+": "added", "-": "removed"}


@dataclass(frozen=True)
class FileDiff:
    """The diff of one file. The kind of a line is `added`, `removed`, `kept`, `hunk` or `head`."""

    name: str
    lines: tuple[tuple[str, str], ...]

    def count(self, kind: str) -> int:
        return sum(each == kind for each, _ in self.lines)


def files_of(diff: str) -> tuple[FileDiff, ...]:
    """Return the files of a diff. Hunk headers give the line counts, since source may begin with `--` or `++`."""
    files: list[tuple[str, list[tuple[str, str]]]] = []
    old = new = 0
    lines = diff.split("\n")
    if lines[-1] == "":
        lines.pop()
    for at, line in enumerate(lines):
        hunk = _HUNK.match(line)
        if hunk is not None:
            old, new = (int(count) if count is not None else 1 for count in hunk.groups())
            kind = "hunk"
        elif old <= 0 and new <= 0:
            kind = "kept" if line.startswith("\\") else "head"
        else:
            kind = "kept" if line.startswith("\\") else _KINDS.get(line[:1], "kept")
            old -= kind != "added" and not line.startswith("\\")
            new -= kind != "removed" and not line.startswith("\\")
        if not files or (
            kind == "head" and line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ ")
        ):
            files.append((_name(lines[at + 1] if kind == "head" and at + 1 < len(lines) else line), []))
        files[-1][1].append((kind, line))
    return tuple(FileDiff(name, tuple(some)) for name, some in files)


def _name(line: str) -> str:
    return line.removeprefix("+++ ").split("\t")[0].rstrip("\r")
