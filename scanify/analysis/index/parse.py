"""Text to `ast`, with syntax that is newer than the running Python blanked out where that is simple."""

import ast
import re
import sys
import warnings
from dataclasses import dataclass

_GENERIC = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+\w+[ \t]*(\[)", re.MULTILINE)
_ALIAS = re.compile(r"^([ \t]*)type[ \t]+([^\W\d]\w*)[ \t]*(\[|=)", re.MULTILINE)
_EXCEPT = re.compile(r"^([ \t]*except[ \t]*\*?[ \t]*[\w.]+)([ \t]*,[ \t\w.,]+)(?=:)", re.MULTILINE)
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Problem:
    """Why a file could not be parsed, with the line (from 1)."""

    line: int
    message: str


def parse(text: str) -> ast.Module | Problem:
    """The tree of `text`, or why there is none.

    Type parameters, `type` statements and `except A, B:` are replaced by spaces where the running Python is older, so
    that everything else keeps its place.
    """
    first = _tree(text)
    if not isinstance(first, Problem):
        return first
    older = blanked(text)
    second = _tree(older) if older != text else first
    if isinstance(second, Problem) and "f-string" in second.message and sys.version_info < (3, 12):
        return Problem(second.line, f"needs Python 3.12 to be read, or is wrong: {second.message}")
    return first if isinstance(second, Problem) else second


def blanked(text: str) -> str:
    """`text` without the syntax of later Pythons, at equal length and with the same line ends."""
    for match in reversed(list(_GENERIC.finditer(text))):
        text = _blank_brackets(text, match.start(1))
    for match in reversed(list(_ALIAS.finditer(text))):
        if match[3] == "[":
            text = _blank_brackets(text, match.start(3))
        head, name = match[1], match[2]
        text = text[: match.start()] + (head + name).ljust(match.end(2) - match.start()) + text[match.end(2) :]
    return _EXCEPT.sub(lambda match: match[1] + " " * len(match[2]), text)


def _blank_brackets(text: str, start: int) -> str:
    """Replace `[...]`, which opens at `start`, by spaces."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in _OPENING) - (text[at] in _CLOSING)
        if depth == 0:
            # A line that ends inside of the brackets must not end the statement: a backslash takes their place.
            blank = re.sub(r"[^\r\n](?=\r|\n)", "\\\\", re.sub(r"[^\r\n]", " ", text[start : at + 1]))
            return text[:start] + blank + text[at + 1 :]
    return text


def _tree(text: str) -> ast.Module | Problem:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
            return ast.parse(text)
    except SyntaxError as error:
        return Problem(error.lineno or 1, str(error.msg))
    except ValueError as error:
        return Problem(1, str(error))
    except (RecursionError, MemoryError):
        return Problem(1, "nested too deeply to be parsed")
