"""Laying out a call the way black does: on one line if it fits, else broken inside its last parentheses."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.emit.text.newlines import LINE_END

NARROW, WIDE = 88, 120  # black's default, and what most projects that want longer lines allow


def width_of(text: str) -> int:
    """The columns that a new line of a file may take: as many as its longest line of code, within bounds."""
    lines = (line for line in LINE_END.split(text) if not line.lstrip().startswith("#") and "://" not in line)
    return min(max(NARROW, *(len(line) for line in lines), 0), WIDE)


@dataclass(frozen=True)
class Style:
    """How a statement is laid out: what each of its lines starts with, one step of indentation, line end and width.

    `comma` is what stands behind the last of several arguments on lines of their own.
    """

    indent: str
    step: str
    newline: str
    width: int
    comma: str = ","

    def fits(self, text: str, step: str = "") -> bool:
        """Whether the text is one line that may stand at the indentation, or one step deeper."""
        return not LINE_END.search(text) and len((self.indent + step).expandtabs(4)) + len(text) <= self.width


def call(head: str, arguments: Sequence[str], style: Style, tail: str = "") -> str:
    """`head(arguments)` and `tail`; the first line comes without the indentation.

    Arguments that span lines are kept as they are, which is right inside parentheses.
    """
    joined = ", ".join(arguments)
    flat = f"{head}({joined}){tail}"
    if style.fits(flat):
        return flat
    inner = style.newline + style.indent + style.step
    if style.fits(joined, style.step):
        return f"{head}({inner}{joined}{style.newline}{style.indent}){tail}"
    comma = "," if any("#" in each for each in arguments) else style.comma
    return f"{head}({inner}{f',{inner}'.join(arguments)}{comma}{style.newline}{style.indent}){tail}"


def curried(head: str, first: Sequence[str], second: Sequence[str], style: Style, tail: str = "") -> str:
    """`head(first)(second)` and `tail`, broken in its last parentheses; in those before where that is not enough."""
    if not second:
        return call(head, first, style, f"(){tail}")
    whole = f"{head}({', '.join(first)})"
    if style.fits(f"{whole}("):
        return call(whole, second, style, tail)
    broken = call(head, first, style)
    *above, last = broken.rpartition(style.newline + style.indent)
    return "".join(above) + call(last, second, style, tail)


def attribute_of(text: str) -> str:
    """The expression as the left side of a `.`: in parentheses unless it binds tightly and is on one line."""
    if "\n" not in text and "\r" not in text:
        node = cst.parse_expression(text)
        if node.lpar if hasattr(node, "lpar") else False:
            return text
        if isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Call | cst.List):
            return text
    return f"({text})"


def as_argument(text: str, alone: bool) -> str:
    """The expression as one argument of a call: in parentheses where it would read as several arguments or none.

    A tuple display without its own parentheses (`a, b`) does, and so does a bare generator that is not `alone`.
    """
    node = cst.parse_expression(f"({text}\n)")
    bare = len(getattr(node, "lpar", ())) == 1  # only the parentheses that were just added
    if bare and (isinstance(node, cst.Tuple) or (isinstance(node, cst.GeneratorExp) and not alone)):
        return f"({text})"
    return text


def tuple_display(elements: Sequence[str]) -> str:
    """`()`, `(a,)`, `(a, b)`."""
    return f"({elements[0]},)" if len(elements) == 1 else f"({', '.join(elements)})"


def pattern(names: Sequence[str]) -> str:
    """Names as they stand in an assignment or a `return`: `a`, `a, b`."""
    return ", ".join(names)
