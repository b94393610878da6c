"""HTML and SVG in which every text is escaped, because only what `tag` made passes as it is."""

from collections.abc import Iterable
from html import escape

from scanify.report.visible import visible

_VOID = {"meta", "rect", "line", "path", "circle", "wbr"}


class Markup(str):
    """Text that is markup already. Make it with `tag`, `join` and `text`."""

    __slots__ = ()


def text(plain: str) -> Markup:
    """Plain text, escaped."""
    return Markup(escape(visible(plain)))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """The parts in a row; those that are no markup are escaped."""
    return Markup(between.join(part if isinstance(part, Markup) else text(part) for part in parts))


def tag(name: str, /, *inside: str, **attributes: object) -> Markup:
    """`<name attribute="...">inside</name>`.

    In names of attributes `_` stands for `-`, and one at the end is dropped: `class_`, `aria_label`. None leaves an
    attribute out, True gives it without a value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Markup(f"<{name}{given}>" if name in ("meta", "wbr") else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(inside)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'
