"""How what a value holds differs between iterations: what is made of an object may be made of any part of it."""

from collections.abc import Iterable

from scanify.analysis.values.domain import Function, Instance, Listed, Mapped, Method, Partial, Value, Walked, options
from scanify.analysis.values.marks import Marks, merged

_HOLDING = Instance | Listed | Mapped | Function | Partial | Method | Walked


def held_marks(*values: Value) -> Marks:
    """The marks of some values with those of all that they hold: fields, elements, what a function is bound to."""
    if not any(isinstance(option, _HOLDING) for value in values for option in options(value)):
        return merged(value.marks for value in values)
    return merged(marks for _, marks in held(*values))


def held(*values: Value) -> list[tuple[Value, Marks]]:
    """Some values and all that they hold, alternatives beside what they are alternatives of, with how each differs.

    The elements of a list differ from one another in the loop that made them; the list as a whole does not.
    """
    found: list[tuple[Value, Marks]] = []
    _look(values, found, set(), frozenset())
    return found


def _look(values: Iterable[Value], found: list[tuple[Value, Marks]], seen: set[int], inside: frozenset[int]) -> None:
    for value in values:
        for one in (value, *(option for option in options(value) if option is not value)):
            found.append((one, tuple(mark for mark in one.marks if mark.loop not in inside) if inside else one.marks))
            if isinstance(one, _HOLDING):
                place, parts = _parts(one)
                if place not in seen:
                    seen.add(place)
                    for loops, part in parts:
                        _look([part], found, seen, inside.union(loops))


def _parts(value: Value) -> tuple[int, list[tuple[tuple[int, ...], Value]]]:
    """What a value holds, each with the loops in which several are made, and the identity of what holds it."""
    match value:
        case Instance():
            return id(value.fields), [((), each) for each in value.fields.values()]
        case Listed():
            return id(value.cell), [(group.loops, group.element) for group in value.cell.groups]
        case Mapped():
            entries: list[tuple[tuple[int, ...], Value]] = [((), each) for each in value.cell.entries.values()]
            return id(value.cell), [*entries, *((group.loops, group.element) for group in value.cell.groups)]
        case Function():
            return id(value), [((), value.bound)] if value.bound is not None else []
        case Partial():
            inner = (value.function, *value.positional, *(each for _, each in value.named))
            return id(value), [((), each) for each in inner]
        case Method():
            return id(value), [((), value.owner)]
        case Walked():
            return id(value), [((), each) for each in value.parts]
        case _:
            return id(value), []
