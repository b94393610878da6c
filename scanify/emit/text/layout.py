"""Lay out a call as black does: on one line if it fits, else broken inside its last parentheses."""

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.emit.text.newlines import LINE_END

NARROW, WIDE = 88, 120  # black's default, and what most projects that want longer lines allow


def width_of(text: str) -> int:
    """Return the width for new lines of a file: that of its longest code line, within bounds."""
    lines = (line for line in LINE_END.split(text) if not line.lstrip().startswith("#") and "://" not in line)
    return min(max(NARROW, *(len(line) for line in lines), 0), WIDE)


@dataclass(frozen=True)
class Style:
    """The layout of a statement: the indentation of its lines, one step of indentation, line end and width.

    `comma` is the text behind the last of several arguments on lines of their own.
    """

    indent: str
    step: str
    newline: str
    width: int
    comma: str = ","

    def fits(self, text: str, step: str = "") -> bool:
        """True if the text is one line that fits at the indentation, or one step deeper."""
        return not LINE_END.search(text) and len((self.indent + step).expandtabs(4)) + len(text) <= self.width


def call(head: str, arguments: Sequence[str], style: Style, tail: str = "") -> str:
    """Lay out `head(arguments)` and `tail`; the first line comes without the indentation.

    Arguments that span lines are kept, which is valid inside parentheses.
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
    """Lay out `head(first)(second)` and `tail`, broken in its last parentheses, and in those before if needed."""
    if not second:
        return call(head, first, style, f"(){tail}")
    whole = f"{head}({', '.join(first)})"
    if style.fits(f"{whole}("):
        return call(whole, second, style, tail)
    broken = call(head, first, style)
    *above, last = broken.rpartition(style.newline + style.indent)
    return "".join(above) + call(last, second, style, tail)


def attribute_of(text: str) -> str:
    """Return the expression as the left side of a `.`: in parentheses unless it binds tightly and is on one line."""
    if "\n" not in text and "\r" not in text:
        node = cst.parse_expression(text)
        if node.lpar if hasattr(node, "lpar") else False:
            return text
        if isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Call | cst.List):
            return text
    return f"({text})"


def as_argument(text: str, alone: bool) -> str:
    """Return the expression as one argument of a call: in parentheses if it would read as several arguments or none.

    This applies to a tuple display without its own parentheses (`a, b`), and to a bare generator that is not `alone`.
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
    """Join names as in an assignment or a `return`: `a`, `a, b`."""
    return ", ".join(names)
