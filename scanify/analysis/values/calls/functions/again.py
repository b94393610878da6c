"""Calls that need not be run again: what they gave is given anew, so that each call has objects of its own."""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.values.calls.functions.pairs import Pairs
from scanify.analysis.values.domain import Array, Instance, Listed, Mapped, Method, OneOf, Unknown, Value
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.marks import Mark, Marks
from scanify.analysis.values.objects.identity import is_coarse, note_store, with_loops
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.asked import Answers, answer_to, ask, outside
from scanify.analysis.values.run.changes import born_of, places_of
from scanify.analysis.values.run.effects import Effect
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

_DEEP = 10  # objects in objects that are looked into


@dataclass(frozen=True)
class Seen:
    """What a call saw beside its arguments, and left in objects that were there before.

    `asked` is what it asked of the run, with the answers; `reached` what it reached by names around it, when there were
    so many `changes`; `stores` are the fields that it stored into, with what they hold since.
    """

    asked: Answers
    reached: tuple[Value, ...]
    changes: int
    stores: tuple[tuple[Instance, str, Value], ...]


@dataclass(frozen=True)
class Done:
    """A call that was run: what it was given, what it gave and did, and from when to when it ran.

    `loops` are the numbers of the loops that it entered; `depends` says that what it gives is another thing in each
    loop around, `coarse` that it stands for calls with arguments that differ in other loops. `env` are the names around
    the function, which are told from others as long as they are kept. `seen` is what it saw and left there.
    """

    arguments: tuple[Value | None, ...]
    value: Value
    effects: tuple[Effect, ...]
    start: int
    end: int
    loops: range
    depends: bool
    coarse: bool
    env: Env | None
    seen: Seen

    def again(self, run: Interpreter, arguments: Sequence[Value | None]) -> tuple[Value, tuple[Effect, ...]] | None:
        """What the same call gives and does another time, with other objects of the same kinds; None where what it
        asks has another answer now."""
        pairs = Pairs(tuple(zip(self.arguments, arguments, strict=True)))
        seen = self.seen
        asked = [((asks, pairs.place(place)), answer) for (asks, place), answer in seen.asked.items()]
        if any(answer_to(run, question) != answer for question, answer in asked):
            return None
        if run.changes.since(seen.changes, seen.reached, telling=self.coarse):
            return None
        for reached in seen.reached:
            run.changes.reach(reached)
        for (asks, place), _ in asked:
            ask(run, asks, place)
        run.surveyed += self.depends
        moved = _Moved(run, self, pairs)
        anew = _Anew(moved, pairs)
        value = anew.value(self.value)
        for owner, name, left in seen.stores:
            given = pairs.given(owner.fields)
            target, now = given if isinstance(given, Instance) else owner, anew.value(left)
            note_store(run, target, name, now)
            run.churned.write((id(target.fields), name), target.born, name, run.clock, target.fields)
            target.fields[name] = now
        if not any(effect.born or effect.marks or effect.holder is not None for effect in self.effects):
            return value, self.effects
        return value, tuple(moved.effect(pairs.moved(effect)) for effect in self.effects)


class Begun:
    """A call that runs, with the moment when it began and its place among the calls around it."""

    def __init__(self, run: Interpreter) -> None:
        self.clock, self._loops, self._surveyed = run.tick(), run.loops, run.surveyed
        self._depth = len(run.calling)
        self._cut, run.cut = run.cut, sys.maxsize
        self._asked, run.asked = run.asked, {}
        changes = run.changes
        self._oldest, changes.oldest = changes.oldest, sys.maxsize
        self._reached, changes.reached = changes.reached, {}
        self._stored, changes.stored = changes.stored, {}

    def entered(self, loop: int) -> bool:
        """Whether the call entered a loop."""
        return loop > self._loops

    def ended(
        self,
        run: Interpreter,
        key: object | None,
        function: ast.AST,
        arguments: tuple[Value | None, ...],
        value: Value,
        effects: tuple[Effect, ...],
        env: Env | None = None,
    ) -> None:
        """Note what the call gave and did, for others with the same key; None where there are none.

        One that called a function around it saw that cut short: what it does by itself is more than that. And one that
        changed what was there before has to change it each time.
        """
        whole = run.cut >= self._depth
        run.cut = min(self._cut, sys.maxsize if whole else run.cut)
        changes = run.changes
        whole, changes.oldest = whole and changes.oldest >= self.clock, min(changes.oldest, self._oldest)
        reached, changes.reached = changes.reached, self._reached
        given = places_of(arguments)  # its key tells these, which functions inside of it reach by name
        around = [
            each
            for place, each in reached.items()
            if place not in given and not run.is_fresh(born_of(each), self.clock)
        ]
        for each in around:
            changes.reach(each)
        stored, changes.stored = changes.stored, self._stored
        stores = [(each, name) for (_, name), each in stored.items() if not run.is_fresh(each.born, self.clock)]
        for owner, name in stores:
            changes.stored.setdefault((id(owner.fields), name), owner)
        asked = {question: outside(answer, self._loops) for question, answer in run.asked.items()}
        run.asked = self._asked
        for question, answer in asked.items():
            run.asked.setdefault(question, answer)
        if key is None or run.exhausted or not whole:
            return
        depends = run.surveyed != self._surveyed
        if depends and function not in run.depending:
            run.depending.add(function)
            key = with_loops(run, key, function)
        loops = range(self._loops + 1, run.loops + 1)
        left = tuple((owner, name, owner.fields[name]) for owner, name in stores if name in owner.fields)
        seen = Seen(asked, tuple(around), changes.count, left)
        run.memo[key] = Done(
            arguments, value, effects, self.clock, run.clock, loops, depends, is_coarse(run), env, seen
        )


class _Moved:
    """The same call at a later time: its moments in the same order, and loops of its own."""

    def __init__(self, run: Interpreter, done: Done, pairs: Pairs) -> None:
        self._run, self._first, self._last, self._loops = run, done.start, done.end, done.loops
        self._pairs, self._coarse = pairs, done.coarse
        self._later = run.clock + 1 - done.start
        self._others: dict[int, int] = {}  # the loops of this time, as they are met: most are of no value that is given
        self._marks: dict[int, tuple[Marks, Marks]] = {}  # by their identity, which lasts as long as they are kept here
        run.clock += done.end - done.start + 1

    def is_own(self, born: int) -> bool:
        """Whether something was made in the call."""
        return self._first <= born <= self._last

    def born(self, born: int) -> int:
        """When what was made in the call is made this time."""
        return born + self._later if self.is_own(born) else born

    def loop(self, loop: int) -> int:
        """The number of a loop this time: one of the call's own, or one in which an argument differs."""
        if loop not in self._loops:
            return self._pairs.loop(loop) if self._coarse else loop
        if loop not in self._others:
            run = self._run
            run.loops += 1
            self._others[loop] = run.loops
            run.loop_clocks[run.loops] = run.loop_clocks[loop] + self._later
            if loop in run.loop_lengths:
                run.loop_lengths[self._others[loop]] = self.marks(run.loop_lengths[loop])
        return self._others[loop]

    def marks(self, marks: Marks) -> Marks:
        """How a value differs in the loops of this time."""
        if not marks:
            return marks
        known = self._marks.get(id(marks))
        if known is None:
            known = self._marks[id(marks)] = marks, self._moved(marks)
        return known[1]

    def _moved(self, marks: Marks) -> Marks:
        if not (self._coarse or any(mark.loop in self._loops for mark in marks)):
            return marks
        loops = [self.loop(mark.loop) for mark in marks]
        if all(loop == mark.loop for loop, mark in zip(loops, marks, strict=True)):
            return marks
        return tuple(Mark(loop, mark.how, mark.via) for loop, mark in zip(loops, marks, strict=True))

    def effect(self, effect: Effect) -> Effect:
        """What the call does, this time. What a default or a name of the file stands for is the same object."""
        fresh = self._run.is_fresh(effect.born, self._first)
        born, marks = self.born(effect.born) if fresh else effect.born, self.marks(effect.marks)
        same = born == effect.born and marks is effect.marks
        return effect if same else replace(effect, born=born, marks=marks)

    def marked(self, value: Value) -> Value:
        """A value that differs in the loops of this time as it did in those of the first."""
        if not (self._loops or self._coarse):
            return value
        if value.marks:
            marks = self.marks(value.marks)
            value = value if marks is value.marks else replace(value, marks=marks)
        if isinstance(value, Array) and value.shape:
            shape = self.marks(value.shape)
            value = value if shape is value.shape else replace(value, shape=shape)
        if isinstance(value, OneOf) and value.chosen:
            picked = self.marks(value.chosen)
            value = value if picked is value.chosen else replace(value, chosen=picked)
        return value


class _Anew:
    """Makes what a call gave another time, with every object that was made in the call."""

    def __init__(self, moved: _Moved, pairs: Pairs) -> None:
        self._moved, self._pairs = moved, pairs
        self._made: dict[int, object] = {}

    def value(self, value: Value, depth: int = 0) -> Value:
        """The value with objects of its own in the place of those that the call made, and with what it is given now."""
        return self._moved.marked(self._object(value, depth))

    def _object(self, value: Value, depth: int) -> Value:
        own = self._moved.is_own
        match value:
            case OneOf():
                options = tuple(self.value(option, depth) for option in value.options)
                same = all(mine is theirs for mine, theirs in zip(options, value.options, strict=True))
                return value if same else replace(value, options=options)
            case Unknown() | Array() if own(value.born):
                return replace(value, born=self._moved.born(value.born))
            case Instance() if own(value.born) and depth < _DEEP:
                return replace(value, fields=self._fields(value.fields, depth), born=self._moved.born(value.born))
            case Listed() if own(value.cell.born) and depth < _DEEP:
                return replace(value, cell=self._list(value.cell, depth))
            case Mapped() if own(value.cell.born) and depth < _DEEP:
                return replace(value, cell=self._dict(value.cell, depth))
            case Unknown() if value.born:
                return replace(value, born=self._pairs.born(value.born))
            case Instance() if isinstance(given := self._pairs.given(value.fields), Instance):
                moved = replace(value, fields=given.fields, born=given.born, node=given.node, origin=given.origin)
                return replace(moved, taken=given.taken)
            case Listed() if isinstance(given := self._pairs.given(value.cell), Listed):
                return replace(value, cell=given.cell)
            case Mapped() if isinstance(given := self._pairs.given(value.cell), Mapped):
                return replace(value, cell=given.cell)
            case Method():
                owner = self.value(value.owner, depth)
                return value if owner is value.owner else replace(value, owner=owner)
            case _:
                return value

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
        made = replace(cell, born=self._moved.born(cell.born), grown=list(cell.grown))
        self._made[id(cell)] = made
        made.groups = self._groups(cell.groups, depth)
        made.built = tuple(self._groups(list(cell.built), depth)) if cell.built is not None else None
        return made

    def _dict(self, cell: DictCell, depth: int) -> DictCell:
        known = self._made.get(id(cell))
        if isinstance(known, DictCell):
            return known
        made = replace(cell, born=self._moved.born(cell.born), grown=list(cell.grown))
        self._made[id(cell)] = made
        made.entries = {key: self.value(each, depth + 1) for key, each in cell.entries.items()}
        made.groups = self._groups(cell.groups, depth)
        return made

    def _groups(self, groups: list[Group], depth: int) -> list[Group]:
        moved = self._moved
        return [
            replace(
                group,
                element=self.value(group.element, depth + 1),
                loops=tuple(moved.loop(each) for each in group.loops),
            )
            for group in groups
        ]
