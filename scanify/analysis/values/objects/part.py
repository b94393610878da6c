"""Where an object was taken from: it may stand in that list, and in others, as well as where it is put."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scanify.analysis.values.domain import Instance, OneOf, Value, options
from scanify.analysis.values.replace import replace

if TYPE_CHECKING:
    from scanify.analysis.values.heap import Cell, Group


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a list, `of[first:last]`, or of a dict anything in it.

    `group` are the elements that it is a part of, where those are known; `walked` is the loop that walks all of it.
    """

    of: "Cell | None" = None
    first: int | None = None
    last: int | None = None
    group: "Group | None" = None
    walked: int = 0


def taken(value: Value, part: Part) -> Value:
    """A value as it is when it is taken out of a list or a dict: an object that may be elsewhere, too."""
    if isinstance(value, Instance):
        return replace(value, taken=part)
    if isinstance(value, OneOf) and any(isinstance(each, Instance) for each in value.options):
        return replace(value, options=tuple(taken(each, part) for each in value.options))
    return value


def part_of(value: Value) -> Part | None:
    """Where a value was taken from."""
    return next((each.taken for each in options(value) if isinstance(each, Instance) and each.taken), None)


def item(of: "Cell", at: int) -> Part:
    """One element of a list, by its number."""
    return Part(of, at, at + 1 or None)
