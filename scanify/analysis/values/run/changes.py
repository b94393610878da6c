"""Changes in place of the objects of a run: what a call gave is no answer any more where what it looked at has changed.

What a call is given tells it from others. What it reaches by names around it (the variables of a function around, the
names of a file, a default) does not, so that it is asked for anew whether anything reached there was changed since.
"""

import sys
from collections.abc import Iterable

from scanify.analysis.values.domain import Instance, Listed, Mapped, Method, Partial, Value, Walked, options

_MOST = 200  # objects that are looked at: of more it is not known whether any was changed

Stored = dict[tuple[int, str], Instance]
"""The objects that have fields stored into, by the identity of all their fields and the name of one."""


class Changes:
    """When each object was changed last, in the order of all changes, of which there are `count`.

    A change is telling where it is not only of numbers and arrays that the object holds. `oldest` is when the oldest
    object was made that the innermost call changes otherwise than by storing into fields, `stored` are the fields that
    it stores into, `reached` is what it reaches by names around it.
    """

    def __init__(self) -> None:
        self.count = 0
        self.oldest = sys.maxsize
        self.stored: Stored = {}
        self.reached: dict[int, Value] = {}
        self._last: dict[int, int] = {}
        self._last_telling: dict[int, int] = {}

    def note(self, place: object, born: int, *, telling: bool) -> None:
        """Note that a list or a dict is changed, or the fields of an object in another way than by a store."""
        self._note(place, telling)
        if telling:
            self.oldest = min(self.oldest, born)

    def note_store(self, owner: Instance, name: str, *, telling: bool) -> None:
        """Note that a field of an object is stored into."""
        self._note(owner.fields, telling)
        if telling:
            self.stored.setdefault((id(owner.fields), name), owner)

    def _note(self, place: object, telling: bool) -> None:
        self.count += 1
        self._last[id(place)] = self.count
        if telling:
            self._last_telling[id(place)] = self.count

    def reach(self, value: Value) -> None:
        """Note that the innermost call reaches a value by a name around it."""
        for option in options(value):
            place = _place(option)
            if place is not None:
                self.reached.setdefault(id(place), option)

    def since(self, count: int, reached: Iterable[Value], *, telling: bool) -> bool:
        """Whether anything that some values hold was changed since there were so many changes."""
        if self.count == count:
            return False
        last = self._last_telling if telling else self._last
        seen: set[int] = set()
        waiting = list(reached)
        while waiting:
            value = waiting.pop()
            place = _place(value)
            if place is not None:
                if id(place) in seen:
                    continue
                seen.add(id(place))
                if last.get(id(place), 0) > count:
                    return True
            if len(seen) > _MOST:
                return True
            waiting += [option for part in _parts(value) for option in options(part)]
        return False


def born_of(value: Value) -> int:
    """When an object was made."""
    match value:
        case Instance():
            return value.born
        case Listed() | Mapped():
            return value.cell.born
        case _:
            return 0


def places_of(values: Iterable[Value | None]) -> set[int]:
    """The identities of the objects that some values may be."""
    places = (_place(option) for value in values if value is not None for option in options(value))
    return {id(place) for place in places if place is not None}


def _place(value: Value) -> object | None:
    """What is another one for each object that can be changed."""
    match value:
        case Instance():
            return value.fields
        case Listed() | Mapped():
            return value.cell
        case Partial() | Method() | Walked():
            return value
        case _:
            return None


def _parts(value: Value) -> Iterable[Value]:
    match value:
        case Instance():
            return list(value.fields.values())
        case Listed():
            return [group.element for group in value.cell.groups]
        case Mapped():
            return [*value.cell.entries.values(), *(group.element for group in value.cell.groups)]
        case Partial():
            return [value.function, *value.positional, *(each for _, each in value.named)]
        case Method():
            return [value.owner]
        case Walked():
            return value.parts
        case _:
            return ()
