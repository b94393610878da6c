"""Laying out a call the way black does: on one line if it fits, else broken inside its last parentheses."""

from collections.abc import Sequence

import libcst as cst

WIDTH = 88
"""Columns that a line may take: black's default."""


def call(head: str, arguments: Sequence[str], indent: str, step: str, newline: str) -> str:
    """`head(arguments)`, to stand at `indent`; the first line comes without it.

    Arguments that span lines are kept as they are, which is right inside parentheses.
    """
    flat = f"{head}({', '.join(arguments)})"
    if fits(flat, indent):
        return flat
    inner = newline + indent + step
    joined = ", ".join(arguments)
    if fits(joined, indent + step):
        return f"{head}({inner}{joined}{newline}{indent})"
    return f"{head}({inner}{f',{inner}'.join(arguments)},{newline}{indent})"


def fits(text: str, indent: str) -> bool:
    """Whether the text is one line that may stand at `indent`."""
    return "\n" not in text and "\r" not in text and len(indent.expandtabs(4)) + len(text) <= WIDTH


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
