"""HTML and SVG with all text escaped: only results of `tag` are inserted unescaped."""

from collections.abc import Iterable
from html import escape

from scanify.report.visible import visible

_VOID = {"meta", "rect", "line", "path", "circle", "wbr"}


class Markup(str):
    """Text that is already markup. Create it with `tag`, `join` and `text`."""

    __slots__ = ()


def text(plain: str) -> Markup:
    """Escape plain text."""
    return Markup(escape(visible(plain)))


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Join parts, escaping those that are not markup."""
    return Markup(between.join(part if isinstance(part, Markup) else text(part) for part in parts))


def tag(name: str, /, *inside: str, **attributes: object) -> Markup:
    """Render `<name attribute="...">inside</name>`.

    In attribute names, `_` becomes `-` and a trailing `_` is dropped: `class_`, `aria_label`. None omits an attribute,
    and True renders it without a value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Markup(f"<{name}{given}>" if name in ("meta", "wbr") else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(inside)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(visible(str(value)))}"'
