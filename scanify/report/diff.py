"""Unified diffs for `git apply` and `patch -p0`. For a notebook, only the cells that change are shown."""

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from scanify.report.sentences import shown
from scanify.source.notebook.text import Cells, is_notebook

_NO_LINE_END = "\\ No newline at end of file\n"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


_COLOURS = (("--- ", "1"), ("+++ ", "1"), ("@@", "36"), ("-", "31"), ("+", "32"))


def coloured(diff: str) -> str:
    """Colour a diff for a terminal: removed lines red, added lines green. Line ends are left uncoloured."""

    def line(match: re.Match[str]) -> str:
        text = match[0]
        code = next((code for start, code in _COLOURS if text.startswith(start)), None)
        return text if code is None else f"\x1b[{code}m{text}\x1b[0m"

    return re.sub(r"^[^\r\n]+", line, diff, flags=re.MULTILINE)


def render(
    before: Mapping[Path, str],
    after: Mapping[Path, str],
    folder: Path,
    *,
    renamed: Mapping[Path, Path] = MappingProxyType({}),
) -> str:
    """Return the diff of every file whose text differs, sorted by path, with paths relative to `folder`.

    Line ends are kept, and a missing newline at the end of a file is marked. `renamed` maps old paths to new ones.
    """
    parts: list[str] = []
    for path in sorted(after):
        if after[path] == before[path]:
            continue
        if is_notebook(path):
            parts += _cells(shown(path, folder), Cells(before[path]), Cells(after[path]))
            continue
        names = shown(path, folder), shown(renamed.get(path, path), folder)
        # str.splitlines also breaks at form feeds, which are no line ends in Python source.
        lines = difflib.unified_diff(_LINE.findall(before[path]), _LINE.findall(after[path]), *names)
        parts += [line if line.endswith(("\n", "\r")) else f"{line}\n{_NO_LINE_END}" for line in lines]
    return "".join(parts)


def _cells(path: str, before: Cells, after: Cells) -> Iterator[str]:
    """The diff of each cell that changes. The last line of a cell has no end, as in the notebook."""
    for number, old, new in zip(before.numbers, before.lines(), after.lines(), strict=True):
        name = f"{path}:cell {number}"
        yield from (f"{line}\n" for line in difflib.unified_diff(old, new, name, name, lineterm=""))
