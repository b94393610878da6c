"""Lines and line ends, in text whose newlines are not translated."""

import re
from collections import Counter

# str.splitlines also breaks at form feeds and other characters at which Python does not.
LINE_END = re.compile(r"\r\n|\r|\n")


def newline_of(text: str) -> str:
    """Return the style of the first line end, "\\n" if there is none."""
    found = LINE_END.search(text)
    return found[0] if found else "\n"


def newline_counts(text: str) -> Counter[str]:
    """Count the line ends of each style."""
    return Counter(LINE_END.findall(text))


def line_of(text: str, offset: int) -> int:
    """Return the line (from 1) of the character at `offset`."""
    return 1 + sum(1 for _ in LINE_END.finditer(text, 0, offset))


def line_start(text: str, offset: int) -> int:
    """Return the offset of the first character of the line that contains `offset`."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_stop(text: str, offset: int) -> int:
    """Return the offset of the line end that follows `offset`, or of the end of the text."""
    found = LINE_END.search(text, offset)
    return found.start() if found else len(text)


def next_line(text: str, offset: int) -> int:
    """Return the offset of the first character of the next line, or of the end of the text."""
    found = LINE_END.search(text, offset)
    return found.end() if found else len(text)


def previous_line(text: str, start: int) -> int:
    """Return the offset of the first character of the line before the one that starts at `start`, which must exist."""
    return line_start(text, start - (2 if text[start - 2 : start] == "\r\n" else 1))


def indent_of(line: str) -> str:
    """Return the spaces and tabs at the start of a line."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def indent_width(line: str) -> int:
    """Return the column of the first character of a line, with tab stops every eight columns, as in Python."""
    return len(indent_of(line).replace("\f", "").expandtabs(8))
