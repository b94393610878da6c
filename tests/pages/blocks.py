"""The fenced blocks of a page, and what a test does with each of them.

| block | what is done |
|---|---|
| ```` ```python ```` | it is run, in one namespace with the others of its page |
| ```` ```LANGUAGE title="FILE" ```` | it is written to that file |
| ```` ```console ```` | what follows `$ ` is run, and the other lines are what that must print |
| ```` ```sh ```` | each line is run by itself, on the files as they were in front of the block |
| ```` ```text ```` | what the python block above it must print |
| ```` ```toml ```` | settings that `scanify config` must understand |
| ```` ```json ````, ```` ```yaml ```` | it is read |

A line `...` in an output stands for any lines. A block under `<!-- not run: WHY -->` is only shown, and one under
`<!-- needs: MODULE -->` is passed over where that cannot be imported. Lines that are indented are code too, and not
run: `unfenced` finds them.
"""

import re
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>\w*) *(?P<words>[^\n`]*)$")
_COMMENT = re.compile(r"^ *<!-- (not run|needs): (.+) -->$")
_TITLE = re.compile(r'(?:title|file)="?([^"\s]+)"?')


class Block(NamedTuple):
    line: int  # of its first line of text, from 1
    language: str
    title: str | None
    text: str
    not_run: str | None
    needs: str | None


def blocks(page: Path) -> list[Block]:
    lines = page.read_text(encoding="utf-8").split("\n")
    found: list[Block] = []
    said: dict[str, str] = {}
    at = 0
    while at < len(lines):
        fence, comment = _FENCE.match(lines[at]), _COMMENT.match(lines[at])
        if comment:
            said[comment[1]] = comment[2]
        elif fence:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == fence["ticks"])
            text = "".join(line.removeprefix(fence["indent"]) + "\n" for line in lines[at + 1 : end])
            title = _TITLE.search(fence["words"])
            block = Block(at + 2, fence["language"], title and title[1], text, said.get("not run"), said.get("needs"))
            found.append(block)
            at, said = end, {}
        elif lines[at].strip():
            said = {}
        at += 1
    return found


def unfenced(page: Path) -> list[int]:
    """Lines that Markdown takes for code because they are indented, as blocks of which a test knows nothing."""
    found, fenced, blank, listed = [], "", True, False
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), start=1):
        fence = _FENCE.match(line)
        if fenced:
            fenced = "" if line.strip() == fenced else fenced
        elif fence:
            fenced = fence["ticks"]
        elif line.startswith("    ") and blank and not listed:
            found.append(number)
        elif line.strip():
            listed = re.match(r" *([-*]|\d+\.) ", line) is not None or (listed and line.startswith("  "))
        blank = not line.strip()
    return found
