"""Text for people: on a terminal its lines are broken between words, elsewhere they stay as they are."""

import re
import shutil
import sys

import click

_CODE = re.compile(r"\x1b\[[0-9;]*m")
# A line of a source or below it, which is looked at as it stands.
_SOURCE = re.compile(r"^ *\d* \||^\.\.\.$")
_NARROW = 20  # columns that are left beside a hanging indent: with fewer there is none


def tell(text: str, *, err: bool = False, nl: bool = True, color: bool | None = None, hang: int | None = None) -> None:
    """Print a text for people. `hang` is the column that lines go on at, by default four beyond their own indent."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        text = wrapped(text, shutil.get_terminal_size().columns, hang)
    click.echo(text, err=err, nl=nl, color=color)


def wrapped(text: str, width: int, hang: int | None = None) -> str:
    """`text` with lines of at most `width` columns, but for words that are longer, and lines of a source."""
    return "\n".join(_broken(line, width, hang) for line in text.split("\n"))


def _broken(line: str, width: int, hang: int | None) -> str:
    plain = _CODE.sub("", line)
    if len(plain) <= width or _SOURCE.match(plain):
        return line
    own = len(plain) - len(plain.lstrip(" "))
    more = own + 4 if hang is None else hang
    indent = " " * (more if width - more >= _NARROW else 0)
    lines, now = [], ""
    for piece in re.findall(r" *[^ ]+", line):
        if now.strip() and _columns(now) + _columns(piece) > width:
            lines.append(now)
            piece = indent + piece.lstrip(" ")
            now = ""
        now += piece
    return "\n".join([*lines, now])


def _columns(text: str) -> int:
    return len(_CODE.sub("", text))
