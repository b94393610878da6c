"""Objects of one call and those in their places in another: what one call did, the other does to its own."""

from collections.abc import Sequence

from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Key,
    Listed,
    Mapped,
    Number,
    OneOf,
    Text,
    Unknown,
    Value,
)
from scanify.analysis.values.heap import DictCell, ListCell
from scanify.analysis.values.marks import Marks
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.churned import ARRAY
from scanify.analysis.values.run.effects import Effect
from scanify.analysis.values.run.interpreter import holder_of

_DEEP = 10  # objects in objects that are looked into
_PLAIN = frozenset({Const, Number, Text, Key})  # what is the same one wherever it is equal, apart from its marks


class Pairs:
    """Objects of one call and those in their places in another: when they were made, and what tells them apart.

    They are looked for when something is asked of them.
    """

    def __init__(self, arguments: Sequence[tuple[Value | None, Value | None]]) -> None:
        self._arguments = arguments
        self._born: dict[int, int] = {}
        self._loops: dict[int, int] = {}
        self._holders: dict[object, object] = {}
        self._objects: dict[int, Value] = {}
        self._seen: dict[tuple[int, int], int] = {}  # pairs that are noted, and how deep they stand

    def born(self, born: int) -> int:
        """When the object was made that stands in the place of one that was made then."""
        self._look()
        return self._born.get(born, born)

    def loop(self, loop: int) -> int:
        """The loop in which an argument differs as it did in that one."""
        self._look()
        return self._loops.get(loop, loop)

    def given(self, place: object) -> Value | None:
        """What stands in the place of an object with some fields, or of a list or a dict."""
        self._look()
        return self._objects.get(id(place))

    def place(self, place: object) -> object:
        """The place of an object that stands in the place of another."""
        match place:
            case ListCell() | DictCell():
                given = self.given(place)
                return given.cell if isinstance(given, Listed | Mapped) else place
            case (int() as fields, name):
                self._look()
                owner = self._objects.get(fields)
                return (id(owner.fields), name) if isinstance(owner, Instance) else place
            case (str() as kind, int() as born) if kind == ARRAY:
                return kind, self.born(born)
            case int():
                self._look()
                owner = self._objects.get(place)
                return id(owner.fields) if isinstance(owner, Instance) else place
            case _:
                return place

    def _look(self) -> None:
        arguments, self._arguments = self._arguments, ()
        for before, now in arguments:
            self._add(before, now, 0)

    def moved(self, effect: Effect) -> Effect:
        """An effect on an object, on the one in its place."""
        born, holder = self.born(effect.born), self._holders.get(effect.holder, effect.holder)
        same = born == effect.born and holder == effect.holder
        return effect if same else replace(effect, born=born, holder=holder)

    def _add(self, before: Value | None, now: Value | None, depth: int) -> None:
        """Note which object stands in the place of which, in fields and elements too."""
        if before is None or now is None or (type(before) in _PLAIN and not before.marks):
            return
        pair = id(before), id(now)
        if self._seen.get(pair, _DEEP + 1) <= depth:
            return
        self._seen[pair] = depth
        if before.marks and now.marks:
            self._differ(before.marks, now.marks)
        if isinstance(before, Array) and isinstance(now, Array):
            self._differ(before.shape, now.shape)
        match before, now:
            case Instance(), Instance() if before.fields is now.fields:
                self._both(before.born, now.born)
            case Listed(), Listed() if before.cell is now.cell:
                self._both(before.cell.born, now.cell.born)
            case Mapped(), Mapped() if before.cell is now.cell:
                self._both(before.cell.born, now.cell.born)
            case Instance(), Instance():
                self._both(before.born, now.born)
                self._holders.setdefault(id(before.fields), id(now.fields))
                self._objects.setdefault(id(before.fields), now)
                for name in before.fields.keys() & now.fields.keys() if depth < _DEEP else ():
                    self._add(before.fields[name], now.fields[name], depth + 1)
            case Listed(), Listed():
                self._both(before.cell.born, now.cell.born)
                self._objects.setdefault(id(before.cell), now)
                for mine, theirs in zip(before.cell.groups, now.cell.groups, strict=False) if depth < _DEEP else ():
                    self._add(mine.element, theirs.element, depth + 1)
            case Mapped(), Mapped():
                self._both(before.cell.born, now.cell.born)
                self._objects.setdefault(id(before.cell), now)
                entries, others = before.cell.entries, now.cell.entries
                for key in entries.keys() & others.keys() if depth < _DEEP else ():
                    self._add(entries[key], others[key], depth + 1)
                for mine, theirs in zip(before.cell.groups, now.cell.groups, strict=False) if depth < _DEEP else ():
                    self._add(mine.element, theirs.element, depth + 1)
            case OneOf(), OneOf() if before is now:
                for option in before.options:
                    self._add(option, option, depth)
            case OneOf(), OneOf():
                for option in before.options:
                    for other in (other for other in now.options if _are_of_one_kind(option, other)):
                        self._add(option, other, depth)
            case Unknown(), Unknown():
                self._both(before.born, now.born)
                self._holders.setdefault(holder_of(before), holder_of(now))
            case Array(), Array():
                self._both(before.born, now.born)
            case _:
                return

    def _differ(self, before: Marks, now: Marks) -> None:
        """Note which loop stands in the place of which: the first in which something differs as much."""
        for mark in before:
            others = (other.loop for other in now if other.how is mark.how)
            self._loops.setdefault(mark.loop, next(others, mark.loop))

    def _both(self, before: int, now: int) -> None:
        """Of several in the place of one the oldest counts."""
        if before:
            self._born[before] = min(now, self._born.get(before, now))


def _are_of_one_kind(mine: Value, other: Value) -> bool:
    if isinstance(mine, Instance) and isinstance(other, Instance):
        return mine.name == other.name
    return type(mine) is type(other)
