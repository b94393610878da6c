"""Calls that need not be run again: what they gave is given anew, so that each call has objects of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scanify.analysis.values.domain import Array, Instance, Listed, Mapped, Method, OneOf, Unknown, Value
from scanify.analysis.values.effects import Effect
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.interpreter import Interpreter, holder_of

_DEEP = 5  # objects in objects that are looked into


@dataclass(frozen=True)
class Done:
    """A call that was run: what it was given, what it gave and did, and from when to when it ran."""

    arguments: tuple[Value | None, ...]
    value: Value
    effects: tuple[Effect, ...]
    start: int
    end: int

    def again(self, run: Interpreter, arguments: Sequence[Value | None]) -> tuple[Value, tuple[Effect, ...]]:
        """What the same call gives and does another time, with other objects of the same kinds."""
        pairs = _Pairs(tuple(zip(self.arguments, arguments, strict=True)))
        value = _Anew(run, self.start, self.end, pairs).value(self.value)
        if not any(effect.born or effect.holder is not None for effect in self.effects):
            return value, self.effects
        return value, tuple(pairs.moved(effect) for effect in self.effects)


class _Pairs:
    """Objects of one call and those in their places in another: when they were made, and what tells them apart.

    They are looked for when something is asked of them.
    """

    def __init__(self, arguments: Sequence[tuple[Value | None, Value | None]]) -> None:
        self._arguments = arguments
        self._born: dict[int, int] = {}
        self._holders: dict[object, object] = {}
        self._objects: dict[int, Value] = {}

    def born(self, born: int) -> int:
        """When the object was made that stands in the place of one that was made then."""
        self._look()
        return self._born.get(born, born)

    def given(self, place: object) -> Value | None:
        """What stands in the place of an object with some fields, or of a list or a dict."""
        self._look()
        return self._objects.get(id(place))

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

    def _both(self, before: int, now: int) -> None:
        """Of several in the place of one the oldest counts."""
        if before:
            self._born[before] = min(now, self._born.get(before, now))


def _are_of_one_kind(mine: Value, other: Value) -> bool:
    if isinstance(mine, Instance) and isinstance(other, Instance):
        return mine.name == other.name
    return type(mine) is type(other)


class _Anew:
    """Makes what a call gave another time: every object that was made in the call, which ran from `start` to `end`."""

    def __init__(self, run: Interpreter, start: int, end: int, pairs: _Pairs) -> None:
        self._run, self._start, self._end, self._pairs = run, start, end, pairs
        self._made: dict[int, object] = {}

    def value(self, value: Value, depth: int = 0) -> Value:
        """The value with objects of its own in the place of those that the call made, and with what it is given now."""
        match value:
            case OneOf():
                options = tuple(self.value(option, depth) for option in value.options)
                same = all(mine is theirs for mine, theirs in zip(options, value.options, strict=True))
                return value if same else replace(value, options=options)
            case Array() if not value.numpy:
                return value
            case Unknown() | Array() if self._is_own(value.born):
                return replace(value, born=self._run.tick())
            case Instance() if self._is_own(value.born) and depth < _DEEP:
                return replace(value, fields=self._fields(value.fields, depth), born=self._run.tick())
            case Listed() if self._is_own(value.cell.born) and depth < _DEEP:
                return replace(value, cell=self._list(value.cell, depth))
            case Mapped() if self._is_own(value.cell.born) and depth < _DEEP:
                return replace(value, cell=self._dict(value.cell, depth))
            case Unknown() if value.born:
                return replace(value, born=self._pairs.born(value.born))
            case Instance() if isinstance(given := self._pairs.given(value.fields), Instance):
                return replace(value, fields=given.fields, born=given.born, node=given.node, origin=given.origin)
            case Listed() if isinstance(given := self._pairs.given(value.cell), Listed):
                return replace(value, cell=given.cell)
            case Mapped() if isinstance(given := self._pairs.given(value.cell), Mapped):
                return replace(value, cell=given.cell)
            case Method():
                owner = self.value(value.owner, depth)
                return value if owner is value.owner else replace(value, owner=owner)
            case _:
                return value

    def _is_own(self, born: int) -> bool:
        return self._start <= born <= self._end

    def _fields(self, fields: dict[str, Value], depth: int) -> dict[str, Value]:
        known = self._made.get(id(fields))
        if isinstance(known, dict):
            return known
        made: dict[str, Value] = {}
        self._made[id(fields)] = made
        made.update({name: self.value(field, depth + 1) for name, field in list(fields.items())})
        return made

    def _list(self, cell: ListCell, depth: int) -> ListCell:
        known = self._made.get(id(cell))
        if isinstance(known, ListCell):
            return known
        made = replace(cell, born=self._run.tick(), grown=list(cell.grown))
        self._made[id(cell)] = made
        made.groups = self._groups(cell.groups, depth)
        made.built = tuple(self._groups(list(cell.built), depth)) if cell.built is not None else None
        return made

    def _dict(self, cell: DictCell, depth: int) -> DictCell:
        known = self._made.get(id(cell))
        if isinstance(known, DictCell):
            return known
        made = replace(cell, born=self._run.tick(), grown=list(cell.grown))
        self._made[id(cell)] = made
        made.entries = {key: self.value(each, depth + 1) for key, each in cell.entries.items()}
        made.groups = self._groups(cell.groups, depth)
        return made

    def _groups(self, groups: list[Group], depth: int) -> list[Group]:
        return [replace(group, element=self.value(group.element, depth + 1)) for group in groups]
