"""Text for people: wrapped between words on a terminal, unchanged elsewhere."""

import re
import shutil
import sys

import click

_CODE = re.compile(r"\x1b\[[0-9;]*m")
# A source line or the line of carets below it, which is never wrapped.
_SOURCE = re.compile(r"^ *\d* \||^\.\.\.$")
_NARROW = 20  # the least width left by a hanging indent; below it, lines are not indented


def tell(text: str, *, err: bool = False, nl: bool = True, color: bool | None = None, hang: int | None = None) -> None:
    """Print text for people. `hang` is the indent of continuation lines, by default four more than the line's own."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        text = wrapped(text, shutil.get_terminal_size().columns, hang)
    click.echo(text, err=err, nl=nl, color=color)


def wrapped(text: str, width: int, hang: int | None = None) -> str:
    """Wrap `text` to `width` columns, except for longer words and source lines."""
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
