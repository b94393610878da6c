"""What a loop changes that was there before it: what is read of that differs from one iteration to the next.

A constructor may halve an option of the dict that it is given, count itself in a configuration, take the next of a list
of rates: `opt["window"] //= 2`. What it reads there is another value for each layer.
"""

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scanify.analysis.values.domain import NONE, Array, Const, Key, Number, Text, Unknown, Value, marked, options
from scanify.analysis.values.marks import Mark, Marks, Vary
from scanify.analysis.values.run.asked import Asks, ask
from scanify.analysis.values.run.effects import Act, Effect

if TYPE_CHECKING:
    from scanify.analysis.values.run.interpreter import Interpreter

ARRAY = "array"
"""What the place of an array of numpy begins with."""
_CHANGES = (Act.WRITE, Act.COLLECT)
_HOW: dict[type, Vary] = {
    Key: Vary.KEY,
    Number: Vary.NUMBER,
    Text: Vary.NUMBER,
    Const: Vary.NUMBER,
    Array: Vary.NUMBER,
    Unknown: Vary.OTHER,
}
"""How a value of a kind differs that is read anew; objects are told apart by what they hold."""


def _how(value: Value) -> Vary | None:
    """How a value differs that is read anew: the worst that it may be; None for objects."""
    return max((how for each in options(value) if (how := _HOW.get(type(each))) is not None), default=None)


class Churned:
    """The places of a run that loops write to, with the marks of those loops.

    A place is an object that lasts as long as the run, or a tuple of such with a name. `count` is how many writes were
    the first in their loops to places that had been read: what was read there is what the first iteration finds.
    """

    def __init__(self, run: "Interpreter") -> None:
        self._run = run
        self._marks: dict[object, Marks] = {}
        self._read: set[object] = set()
        self._kept: list[object] = []
        self.count = 0

    def write(self, place: object, born: int, via: str, since: int, kept: object = None) -> None:
        """Note that a place of an object that was made at a moment is written to by a call that began `since` then.

        `kept` is what has to last as long as the run.
        """
        run = self._run
        if not run.building or run.coarse:
            return
        if isinstance(place, tuple) and not isinstance(place[0], int):  # a list, dict or field has its own note
            run.changes.oldest = min(run.changes.oldest, born)
        loops = self._loops(born)
        if not loops:
            run.surveyed += not run.is_fresh(born, since)  # in a loop around its caller it would be another thing
            return
        run.surveyed += 1
        known = self._marks.get(place, ())
        new = tuple(Mark(loop, Vary.OTHER, via) for loop in loops if all(mark.loop != loop for mark in known))
        if new:
            self._marks[place] = (*known, *new)
            self._kept.append(kept)
        if new and place in self._read:
            self.count += 1

    def taken(self, value: Value, born: int, via: str) -> Value:
        """A value that is taken out of an object that was made at a moment: the next time it is another one."""
        how = _how(value)
        loops = self._loops(born) if how is not None and self._run.regions else []
        if how is None or not loops:
            return value
        self._run.surveyed += 1
        return marked(value, tuple(Mark(loop, how, via) for loop in loops))

    def given(self, value: Value, effects: Iterable[Effect]) -> Value:
        """The value of an expression that changes what was there before it: the next time it may be another one."""
        run = self._run
        if not run.building or run.coarse or not run.around or value == NONE:
            return value
        for effect in effects:
            shown = effect.act in _CHANGES and not effect.assumed and not isinstance(effect.node, ast.Nonlocal)
            if shown or (effect.act is Act.OUTSIDE and not isinstance(value, Const)):
                value = self.taken(value, effect.born, effect.what)
        return value

    def _loops(self, born: int) -> list[int]:
        """The loops around in which what was made at a moment is not made anew."""
        run = self._run
        return [each.loop for each in run.regions if each.is_loop and not run.is_fresh(born, each.clock)]

    def since(self, count: int) -> bool:
        """Whether what was run since there were so many such writes has to be run again."""
        return self.count != count

    def loops_at(self, place: object) -> tuple[int, ...]:
        """In which of the loops around a place is written to."""
        known = self._marks.get(place)
        around = self._run.around if known else ()
        return tuple(mark.loop for mark in known if mark.loop in around) if known and around else ()

    def note_read(self, place: object) -> None:
        """Note that a place is read in a loop: if it is written to later, what was read is what came first."""
        self._read.add(place)

    def marks(self, place: object, value: Value) -> Marks:
        """How a value that is read there differs in the loops around."""
        run = self._run
        if not run.building or run.coarse or (how := _how(value)) is None:
            return ()
        if not ask(run, Asks.LOOPS, place):
            return ()
        run.surveyed += 1
        around = run.around
        return tuple(Mark(mark.loop, how, mark.via) for mark in self._marks[place] if mark.loop in around)

    def read(self, place: object, value: Value) -> Value:
        """A value that is read there."""
        if not self._run.building:  # asked at every read
            return value
        marks = self.marks(place, value)
        return marked(value, marks) if marks else value
