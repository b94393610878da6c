"""The source of a proposed case's values, with reasons that become comments."""

from __future__ import annotations

from dataclasses import dataclass

_WIDTH = 100


@dataclass(frozen=True)
class Text:
    """An expression as written, and why it was chosen; `label` is a short description for messages."""

    text: str
    why: str = ""
    label: str = ""


@dataclass(frozen=True)
class Call:
    """A call whose arguments are passed by keyword, except where the name is None."""

    callee: str
    arguments: tuple[tuple[str | None, Expression], ...]
    why: str = ""


Expression = Text | Call


def show(value: Expression, indent: int = 4) -> str:
    """Return `value` as source: on one line if it fits and needs no comments, otherwise with one line per argument.

    `indent` is the indent of the first line.
    """
    if isinstance(value, Text):
        return value.text
    flat = ", ".join(_named(name, show(argument, 0)) for name, argument in value.arguments)
    if not _explains(value) and "\n" not in flat and indent + len(value.callee) + len(flat) + 2 <= _WIDTH:
        return f"{value.callee}({flat})"
    inner = " " * (indent + 4)
    lines = [f"{value.callee}("]
    for name, argument in value.arguments:
        comment = f"  # {argument.why}" if argument.why else ""
        lines.append(f"{inner}{_named(name, show(argument, indent + 4))},{comment}")
    return "\n".join([*lines, f"{' ' * indent})"])


def _explains(value: Expression) -> bool:
    if isinstance(value, Text):
        return False
    return any(argument.why or _explains(argument) for _, argument in value.arguments)


def _named(name: str | None, text: str) -> str:
    return text if name is None else f"{name}={text}"
