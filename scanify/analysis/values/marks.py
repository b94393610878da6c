"""Marks: how a value differs from one iteration of a loop to the next, and through which name."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from scanify.analysis.values.replace import replace


class Vary(IntEnum):
    """How a value differs between the iterations of a loop, from the most harmless on.

    KEY: as random keys do. NUMBER: a number or a label. CHOICE: one of a few that a condition picks. LISTED: what
    a caller lists. SHAPE: the shape of an array. OTHER: in an unknown way. CARRY and CARRY_SHAPE are no differences
    between layers: they mark what goes from one iteration to the next, and what is read of its shape.
    """

    CARRY = -1
    CARRY_SHAPE = 0
    KEY = 1
    NUMBER = 2
    CHOICE = 3
    LISTED = 4
    SHAPE = 5
    OTHER = 6


@dataclass(frozen=True)
class Mark:
    """A value differs between the iterations of the loop numbered `loop`, through the name `via`. `dtype` says that of
    an array the dtype does, and not the shape."""

    loop: int
    how: Vary
    via: str
    dtype: bool = False


Marks = tuple[Mark, ...]
AN_ELEMENT = "an element"  # `via` where what is walked has no name in the code that walks it


def merged(groups: Iterable[Marks]) -> Marks:
    """The marks of several values together: of each loop the worst."""
    several = {id(marks): marks for marks in groups if marks}
    if len(several) < 2:
        return next(iter(several.values()), ())
    worst: dict[int, Mark] = {}
    for marks in several.values():
        for mark in marks:
            known = worst.get(mark.loop)
            if known is None or known.how < mark.how:
                worst[mark.loop] = mark
    return tuple(worst.values())


def raised(marks: Marks, how: Vary) -> Marks:
    """The same marks, each at least as bad as `how`; what goes from layer to layer stays what it is."""
    return tuple(mark if mark.how >= how or mark.how <= Vary.CARRY_SHAPE else replace(mark, how=how) for mark in marks)


def as_keys(marks: Marks) -> Marks:
    """The marks of a random key that is made with what has some marks: keys differ in nothing else."""
    return tuple(mark if mark.how <= Vary.CARRY_SHAPE else replace(mark, how=Vary.KEY) for mark in marks)
