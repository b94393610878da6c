"""Documents: text with possible line breaks, and the layout that fits a width.

The algorithm is Wadler's, as in prettier and ruff: a group is on one line if that fits, else all its lines break.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Union

Doc = Union[str, "Line", "Indent", "Group", "IfBreak", "list[Doc]"]


@dataclass(frozen=True)
class Line:
    """A line end if the group breaks, else `flat`."""

    flat: str = " "


@dataclass(frozen=True)
class Indent:
    """A document whose lines are indented by one more step."""

    doc: Doc


@dataclass(frozen=True)
class Group:
    """A document on one line if that fits. `broken` breaks it even if it would fit."""

    doc: Doc
    broken: bool = False


@dataclass(frozen=True)
class IfBreak:
    """Text that is present only if the group breaks."""

    text: str


SOFT = Line("")
SPACE = Line(" ")


def must_break(doc: Doc) -> bool:
    """True if a part of the document breaks at any width."""
    match doc:
        case Group(inner, broken):
            return broken or must_break(inner)
        case Indent(inner):
            return must_break(inner)
        case list():
            return any(map(must_break, doc))
        case _:
            return False


def spread(doc: Doc) -> Doc:
    """Mark every group as broken that contains one which must break."""
    match doc:
        case Group(inner, broken):
            return Group(spread(inner), broken or must_break(inner))
        case Indent(inner):
            return Indent(spread(inner))
        case list():
            return [spread(each) for each in doc]
        case _:
            return doc


_Item = tuple[str, bool, Doc]  # indentation, whether the lines break, the document


def render(doc: Doc, indent: str, step: str, width: int, tail: int = 0) -> list[str]:
    """Return the lines of a document that starts at `indent`; the first line comes without it.

    `tail` is the width to keep free behind the last line.
    """
    lines, column = [""], len(indent.expandtabs(4))
    left: list[_Item] = [(indent, True, [spread(doc), " " * tail])]
    while left:
        at, breaks, one = left.pop()
        match one:
            case str():
                lines[-1] += one
                column += len(one)
            case list():
                left += [(at, breaks, each) for each in reversed(one)]
            case Indent(inner):
                left.append((at + step, breaks, inner))
            case IfBreak(text):
                left.append((at, breaks, text if breaks else ""))
            case Group(inner, broken):
                flat = not broken and _fits((at, False, inner), left, width - column)
                left.append((at, not flat, inner))
            case Line(text) if not breaks:
                lines[-1] += text
                column += len(text)
            case Line():
                lines.append(at)
                column = len(at.expandtabs(4))
    last = lines[-1]
    return [*lines[:-1], last[: len(last) - tail] if tail else last]


def _fits(first: _Item, rest: Sequence[_Item], room: int) -> bool:
    """True if an item fits on one line, with the text after it up to the next possible break."""
    left, behind = [first], len(rest)
    while room >= 0:
        if not left:
            if behind == 0:
                return True
            behind -= 1
            left.append(rest[behind])
        at, breaks, one = left.pop()
        match one:
            case str():
                room -= len(one)
            case list():
                left += [(at, breaks, each) for each in reversed(one)]
            case Indent(inner):
                left.append((at, breaks, inner))
            case Group(inner, broken):
                left.append((at, breaks or broken, inner))
            case IfBreak(text):
                room -= len(text) if breaks else 0
            case Line() if breaks:
                return True
            case Line(text):
                room -= len(text)
    return False
