"""Whether one object may stand in a list twice: a stack of such a list would have other parameters than the list.

An element is an object of its own where it is made for its place. What is taken out of another list, a dict or a name
is an object that may be in the list already: so each element says where it was taken from, as far as that is known.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.values.domain import Instance, Listed, Mapped, Value, options
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.marks import Marks, Vary
from scanify.analysis.values.objects.part import Part
from scanify.analysis.values.run.interpreter import Interpreter


@dataclass(frozen=True, eq=False)
class Twice:
    """One object that may stand in a list more than once: `again` is another place of it, None where one expression may
    give it many times. `sure` says that it surely does."""

    group: Group
    again: Group | None = None
    sure: bool = False


def held_twice(groups: Sequence[Group]) -> Twice | None:
    """An object that may stand in a list more than once; None where each is shown to be another one."""
    for group in groups:
        for option in options(group.element):
            if not isinstance(option, Instance) or group.own or not group.loops or _is_another(option, group):
                continue
            if option.born or option.taken or not isinstance(group.node, ast.Call):  # else a call gave what it declares
                sure = option.taken is None and not any(mark.loop in group.loops for mark in option.marks)
                return Twice(group, sure=sure)
    for at, group in enumerate(groups):
        for other in groups[:at]:
            if _share(group, other) and not _apart(group.part, other.part):
                return Twice(other, group)
    return None


def are_apart(cell: ListCell | DictCell) -> bool:
    """Whether each element of a list or a dict is shown to be another object."""
    if isinstance(cell, DictCell):
        entries = [Group(each, cell.node, cell.module) for each in cell.entries.values()]
        return held_twice([*entries, *cell.groups]) is None
    return cell.repeats is None and held_twice(cell.groups) is None


def made_since(run: Interpreter, value: Value, since: int) -> bool:
    """Whether a value is an object that the running code made after a moment, and did not take from a list."""
    for each in options(value):
        source = each.taken if isinstance(each, Instance) else None
        if source is not None and (source.of is None or not run.is_fresh(source.of.born, since)):
            return False  # of a list of this very iteration it is as new as the list
        if isinstance(each, Instance | Listed | Mapped):
            born = each.born if isinstance(each, Instance) else each.cell.born
            if born <= 0 or not run.is_fresh(born, since):
                return False
    return True


def _is_another(value: Instance, group: Group) -> bool:
    """Whether it is another element of a list for each element of a group; of a given list, as far as is shown."""
    part = value.taken
    given = part is not None and group.loops == (part.walked,) and bool(getattr(part.of, "given", ""))
    return given or is_walked(value.marks, group)


def is_walked(marks: Marks, group: Group) -> bool:
    """Whether a value is another element of a list for each element of a group."""
    own = [mark for mark in marks if mark.loop in group.loops]
    few = any(mark.how in (Vary.CHOICE, Vary.LISTED) for mark in own)
    return {mark.loop for mark in own} == set(group.loops) and not few


def _share(mine: Group, other: Group) -> bool:
    """Whether two groups may have an object in common. What annotations say is one value for any object of a class."""
    one, two = mine.part, other.part
    if one is not None and two is not None and one.of is not None and one.of is two.of:
        return one.group is None or two.group is None or one.group is two.group
    named = isinstance(mine.node, ast.Name | ast.Attribute) and not mine.repeated and not other.repeated
    if named and mine.node is not other.node and ast.dump(mine.node) == ast.dump(other.node):
        return any(isinstance(each, Instance) for each in options(mine.element))
    theirs = {id(each.fields) for each in options(other.element) if isinstance(each, Instance) and each.born}
    return any(isinstance(each, Instance) and id(each.fields) in theirs for each in options(mine.element))


def _apart(mine: Part | None, other: Part | None) -> bool:
    """Whether two parts of one list, which is not changed in between, have no place in common."""
    if mine is None or other is None or mine.of is None or mine.of is not other.of or mine.of.changes:
        return False
    return _ends_before(mine, other) or _ends_before(other, mine)


def _ends_before(mine: Part, other: Part) -> bool:
    last, first = mine.last, other.first
    return last is not None and first is not None and (last < 0) is (first < 0) and last <= first
