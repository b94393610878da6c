"""What differs from one element of a list to the next: of objects, and where an annotation alone says what it holds."""

import ast

from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Library,
    Listed,
    Mapped,
    Number,
    Text,
    Unknown,
    Value,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import Group, ListCell
from scanify.analysis.values.marks import Mark, Marks, Vary, merged
from scanify.analysis.values.objects.sharing import are_apart
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.interpreter import Interpreter


def is_from_elsewhere(cell: ListCell, group: Group) -> bool:
    """Whether an annotation alone says what some elements are: each of them may be another one."""
    known = isinstance(group.element, Const | Unknown | Instance)
    built = group.own or is_repeated(
        group
    )  # by an expression of the code: `[first] + [width] * depth`, or a part of it
    return not known and not built and group.count is None and not group.loops and cell.repeats is None


def is_repeated(group: Group) -> bool:
    """Whether elements are one value many times in a list that others are added to or that is cut: `[8] * depth`."""
    source = group.part.of if group.part is not None else None
    return isinstance(source, ListCell) and source.repeats is not None and not group.loops


def is_apart(run: Interpreter, group: Group) -> bool:
    """Whether few of the numbers that a caller lists are likely to be equal: fractions, and sizes by their default."""
    usual = run.usual.get(group.node, ())
    runs = any(a == b == c for a, b, c in zip(usual, usual[1:], usual[2:], strict=False))
    fractions = isinstance(group.node, ast.Name) and group.node.id == "float"
    return isinstance(group.element, Number) and (fractions or (len(usual) > 2 and not runs))


def are_settings(run: Interpreter, given: list[Group]) -> bool:
    """Whether the numbers that a caller lists are whole ones of which no three are alike: sizes, dilations."""
    usual = [number for group in given for number in run.usual.get(group.node, ())]
    return all(is_apart(run, group) for group in given) and bool(usual) and all(isinstance(one, int) for one in usual)


def given_element(run: Interpreter, cell: ListCell, element: Value, given: list[Group], loop: int, via: str) -> Value:
    """An element of a list that the code does not build: some of its numbers may repeat, and so may their shapes."""
    apart = all(is_apart(run, group) for group in given)
    how = Vary.SHAPE if are_settings(run, given) else Vary.NUMBER if apart else Vary.LISTED
    mark = (Mark(loop, how, via),)
    found: list[Value] = []
    plain = any(isinstance(option, Number) for option in options(element))  # `int | tuple[int, int]`: sizes
    for option in options(element):
        other = (Mark(loop, Vary.OTHER, via),)
        if isinstance(option, Listed) and plain and _is_row_of_numbers(option):
            inner = [replace(each, element=marked(each.element, mark)) for each in option.cell.groups]
            found.append(replace(option, cell=replace(option.cell, groups=inner)))
        elif isinstance(option, Listed) and not _holds_objects(option):
            found.append(Unknown(cell.why, cell.why_at, other, given=True))
        elif isinstance(option, Mapped) and not _holds_objects(option):
            found.append(marked(option, other))
        elif isinstance(option, Array):
            found.append(replace(option, marks=merged([option.marks, mark]), shape=merged([option.shape, mark])))
        elif isinstance(option, Instance):
            found.append(marked(option, own_marks(run, cell, option, loop, via)))
        else:
            found.append(option if isinstance(option, Listed | Mapped) else marked(option, mark))
    return join(found)


def _is_row_of_numbers(value: Listed) -> bool:
    """Whether a tuple is declared to hold numbers, so many."""
    return (
        value.cell.is_tuple
        and len(value.cell.groups) > 1
        and all(isinstance(group.element, Number) for group in value.cell.groups)
    )


def rows_of_numbers(value: Value) -> list[list[Value]]:
    """What may be one of several tuples of as many numbers, as those; else nothing."""
    rows = [option.cell for option in options(value) if isinstance(option, Listed) and option.cell.is_tuple]
    plain = all(
        isinstance(part, Number | Const | Text)
        for row in rows
        for group in row.groups
        for part in options(group.element)
    )
    known = (
        len(rows) > 1 and len(rows) == sum(1 for _ in options(value)) and all(row.whole or row.given for row in rows)
    )
    same = len({len(row.groups) for row in rows}) == 1
    return [[group.element for group in row.groups] for row in rows] if known and plain and same else []


def _holds_objects(value: Listed | Mapped) -> bool:
    """Whether rows of a table hold modules or other objects, beside numbers."""
    elements = [option for group in value.cell.groups for option in options(group.element)]
    return any(
        isinstance(each, Instance) or (isinstance(each, Listed | Mapped) and _holds_objects(each)) for each in elements
    )


def row_of(cell: ListCell, row: Listed, loop: int, via: str) -> Listed:
    """A tuple of a table that is walked: what differs from one to the next as it is built differs as it is walked."""
    around = {number for group in cell.groups for number in group.loops}
    if not row.cell.is_tuple or not around:
        return row
    own = all(group.own for group in cell.groups)
    parts = [_part_of(each, around, loop, via, own) for each in row.cell.groups]
    return replace(row, cell=replace(row.cell, groups=parts))


def _part_of(group: Group, around: set[int], loop: int, via: str, own: bool) -> Group:
    part = group.element
    found = [mark.how for mark in part.marks if mark.loop in around]
    if isinstance(part, Listed) and part.cell.is_tuple:
        inner = [_part_of(each, around, loop, via, own and group.own) for each in part.cell.groups]
        return replace(group, element=replace(part, cell=replace(part.cell, groups=inner)))
    if isinstance(part, Instance) and own and group.own:
        found.append(Vary.KEY)  # made for its tuple
    return replace(group, element=marked(part, (Mark(loop, max(found), via),))) if found else group


def own_marks(run: Interpreter, cell: ListCell, element: Instance, loop: int, via: str) -> Marks:
    """How objects differ from one to the next: settings of a layer each, or modules that others are made of."""
    if isinstance(element.cls, Library):
        return ()
    module = run.classes.is_module(element.cls)
    if cell.given:
        return (Mark(loop, Vary.CHOICE if module else Vary.OTHER, via),)
    around = {each for group in cell.groups for each in group.loops}
    inside = [mark.how for value in element.fields.values() for mark in value.marks if mark.loop in around]
    if module and not are_apart(cell):
        return ()
    if module:  # another object in each iteration, though it may be of equal parts
        inside.append(Vary.KEY)
    return (Mark(loop, max(inside), via),) if inside else ()
