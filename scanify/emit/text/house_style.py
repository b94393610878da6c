"""The style of a file: its line width, if ruff or black formatted it."""

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from scanify.emit.text.layout import Style, width_of

_USUAL = (88, 79, 80, 100, 120, 119, 90, 99, 95, 110)
_BEFORE_PARENTHESES = ("=", "+=", "return", "in", ":", "if", "and", "or", "not", "assert")
_SKIPPED = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class HouseStyle:
    """The width of new lines, and whether the breaks of all lines match a formatter of that width."""

    width: int
    formatted: bool

    def style(self, indent: str, step: str, newline: str) -> Style:
        """Return the style of a new statement, without the trailing comma that would keep it on several lines."""
        return Style(indent, step, newline, self.width, "" if self.formatted else ",")


@dataclass(frozen=True)
class _Logical:
    """A logical line: its width on one line, whether it is on one line, and whether a formatter could join it."""

    flat: int
    whole: bool
    free: bool


@lru_cache(maxsize=64)
def house_style(text: str) -> HouseStyle:
    """Infer a file's style from its widest line on one line and its narrowest broken one."""
    plain = HouseStyle(width_of(text), False)
    if "\t" in text or "\r" in text or "\f" in text or (text and not text.endswith("\n")):
        return plain
    try:
        lines = list(_logical_lines(text))
    except (tokenize.TokenError, SyntaxError):
        return plain
    low = max((line.flat for line in lines if line.whole), default=0)
    high = min((line.flat for line in lines if not line.whole and line.free), default=10**6)
    if low >= high or low > 160:
        return plain
    width = next((each for each in _USUAL if low <= each < high), None)
    return HouseStyle(width if width is not None else min(high - 1, max(low, 88)), True)


def _logical_lines(text: str) -> Iterator[_Logical]:
    line: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if line:
                yield from _measured(line)
            line = []
        elif token.type == tokenize.COMMENT and not line:
            continue
        elif token.type not in _SKIPPED:
            line.append(token)


def _measured(line: list[tokenize.TokenInfo]) -> Iterator[_Logical]:
    """Yield a logical line that contains brackets, and so could be broken."""
    texts = [token.string for token in line]
    code = [token for token in line if token.type != tokenize.COMMENT]
    if not code or texts[0] in ("import", "from") or any("\n" in each for each in texts):
        return
    holds = any(a.string in "([{" and b.string not in ")]}" for a, b in pairwise(code))
    first, last = code[0], code[-1]
    if not holds or not last.string:
        return
    if first.start[0] == last.end[0]:
        yield _Logical(last.end[1], True, True)
        return
    plain = len(code) == len(line)  # comments keep lines apart, or count for the width
    yield _Logical(_flat_width(code), False, plain and not _forced(code))


def _flat_width(code: list[tokenize.TokenInfo]) -> int:
    width = code[0].start[1]
    for token, before in zip(code, [None, *code], strict=False):
        if before is not None:
            if token.start[0] == before.end[0]:
                width += token.start[1] - before.end[1]
            elif before.string not in ("(", "[", "{") and token.string not in (")", "]", "}"):
                width += 1
        width += len(token.string)
    return width


def _forced(code: list[tokenize.TokenInfo]) -> bool:
    """True if a trailing comma, or code that this count does not handle, keeps the line broken."""
    for before, token in pairwise(code):
        if before.string == "," and token.string in (")", "]", "}"):
            return True
        if before.type == token.type == tokenize.STRING:
            return True
        if token.string == "(" and before.string in _BEFORE_PARENTHESES:
            return True
        if token.start[0] != before.end[0] and token.string == ".":
            return True
    return code[0].string in ("with", "assert", "del", "if", "elif", "while", "for", "return") and code[1].string == "("
