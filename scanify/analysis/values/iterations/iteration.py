"""Iteration: what the elements of a value are, and how they differ from one to the next."""

import ast
from dataclasses import dataclass, field

from scanify.analysis.values.calls.resizing import of_each
from scanify.analysis.values.data import Data
from scanify.analysis.values.domain import (
    Array,
    Const,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Number,
    OneOf,
    Text,
    Unknown,
    Value,
    Walked,
    chosen,
    join,
    marked,
    options,
    without_marks,
)
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.iterations.elements import (
    given_element,
    is_from_elsewhere,
    is_repeated,
    own_marks,
    row_of,
    rows_of_numbers,
)
from scanify.analysis.values.marks import AN_ELEMENT, Mark, Marks, Vary, merged
from scanify.analysis.values.objects import protocols
from scanify.analysis.values.objects.key_order import note_order
from scanify.analysis.values.objects.part import Part, taken
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


@dataclass
class Spread:
    """The elements of a value, as groups; where `whole` is false there may be others, and `why` says why.

    `may_lack` says that one of several lists that it may be is made empty.
    """

    groups: list[Group] = field(default_factory=list)
    whole: bool = True
    why: str = ""
    may_lack: bool = False


def elements_of(run: Interpreter, env: Env, value: Value, node: ast.AST) -> Spread:
    """What `[*value]` holds."""
    if isinstance(value, Mapped):
        note_order(run, env, value.cell, node)
    match value:
        case Listed():
            return _spread_of(value.cell, node, env)
        case Key() if value.many:
            return Spread([Group(Key(value.marks), node, env.module, (run.new_loop(),), value.count)])
        case Walked(kind="reversed" | "values" | "iter", parts=[inner]) if not isinstance(inner, Walked):
            if isinstance(inner, Mapped):
                groups = [Group(one, node, env.module) for one in inner.cell.entries.values()]
                return Spread([*groups, *inner.cell.groups], inner.cell.whole, inner.cell.why)
            return elements_of(run, env, inner, node)
        case Walked():
            loop = run.new_loop()
            element, count = iterate(run, env, value, loop, node, AN_ELEMENT)
            return Spread([Group(element, node, env.module, (loop,), count)])
        case Instance() if not isinstance(value.cls, Library):
            loop = run.new_loop()
            element, count = iterate(run, env, value, loop, node, AN_ELEMENT)
            return Spread(
                [Group(element, node, env.module, (loop,), count, True)], False, f"a `{value.name}` gives them"
            )
        case Array():
            loop = run.new_loop()
            return Spread([Group(Array(value.numpy, value.marks), node, env.module, (loop,), value.rows)])
        case _:
            if isinstance(value, Unknown):
                protocols.note_operation(run, env, node, [value], protocols.WALKED)
            why = value.why if isinstance(value, Unknown) else "the elements of a value are not shown"
            choices = (
                [elements_of(run, env, one, node) for one in options(value) if not _cannot_be_walked(one)]
                if value not in options(value)
                else []
            )
            full = [choice.groups for choice in choices if choice.groups]
            groups = [replace(group, conditional=True, count=None) for each in full for group in each]
            if len(full) == 1 and len(full[0]) == 1:  # `[layer] if deep else []`: one, or none
                groups = [replace(full[0][0], conditional=True)]
            whole = bool(choices) and all(choice.whole for choice in choices)
            if not choices:
                groups = [_hidden_group(run, why, value, node, env)]
            lacks = any(not choice.groups for choice in choices)
            return Spread(groups, whole, "" if whole else why, lacks)


def _spread_of(cell: ListCell, node: ast.AST, env: Env) -> Spread:
    """The elements of a list; of one from elsewhere whose annotation says nothing of them, they are unknown."""
    groups = [group if group.part else replace(group, part=Part(cell, group=group)) for group in cell.groups]
    if cell.given and not groups:
        element = Unknown(cell.why, cell.why_at, given=True, data=cell.data)
        groups = [Group(element, node, env.module, (), None, True)]
    return Spread(groups, cell.whole, cell.why, cell.may_lack)


def _hidden_group(run: Interpreter, why: str, value: Value, node: ast.AST, env: Env) -> Group:
    """The elements of a value of which nothing is known: any number of them, of any kind."""
    loop = run.new_loop()
    given = isinstance(value, Unknown) and value.given
    at = value.at if isinstance(value, Unknown) else None
    marks = (*value.marks, Mark(loop, Vary.OTHER, AN_ELEMENT))
    argument = value.part_at("each") if isinstance(value, Unknown) else None
    element = Unknown(why, at, marks, given=given, data=protocols.data_of(run, [value]), argument=argument)
    return Group(element, node, env.module, (loop,), None, True)


def iterate(run: Interpreter, env: Env, value: Value, loop: int, node: ast.AST, via: str) -> tuple[Value, int | None]:
    """An element of what a loop walks, marked as it differs between iterations, and how many there are if known."""
    match value:
        case Listed():
            run.use(value.cell, Does.WALK, node, env)
            return _element(run, env, value.cell, loop, node, via), value.cell.length()
        case Mapped():
            note_order(run, env, value.cell, node)
            return Text((Mark(loop, Vary.NUMBER, via),)), entries(value.cell)
        case Key():
            protocols.note_operation(run, env, node, [value], protocols.WALKED)
            return Key((Mark(loop, Vary.KEY, via),)), value.count if value.many else None
        case Array():
            marks = (*value.marks, Mark(loop, Vary.NUMBER, via))
            return Array(value.numpy, marks, value.shape, size=of_each(value)), value.rows
        case Text() | Const():
            count = len(value.value) if isinstance(value, Const) and isinstance(value.value, str) else None
            return Text((Mark(loop, Vary.NUMBER, via),)), count
        case Walked():
            return _step(run, env, value, loop, node, via)
        case Instance(cls=Library(), fields={"layers": Listed(cell=cell)}):
            return _element(run, env, cell, loop, node, via), cell.length()
        case Instance():
            if (inner := _by_methods(run, env, value, node)) is not None:
                return iterate(run, env, inner, loop, node, via)
            return Unknown(f"an element of a `{value.name}`", marks=(Mark(loop, Vary.OTHER, via),)), None
        case Unknown():
            unpacked = isinstance(node, ast.Tuple | ast.List)
            protocols.note_operation(run, env, node, [value], ("__len__",) if unpacked else protocols.WALKED)
            marks = (*value.marks, Mark(loop, Vary.OTHER, via))
            data, argument = protocols.data_of(run, [value]), value.part_at("each")
            known = Unknown(value.why, value.at, marks, given=value.given, data=data, argument=argument)
            return replace(known, extent=value.extent.part if value.extent is not None else None), None
        case _:
            walked = [option for option in options(value) if option is not value and not _cannot_be_walked(option)]
            pairs = [iterate(run, env, option, loop, node, via) for option in walked]
            counts = {count for _, count in pairs}
            data = Data.ARRAYS if isinstance(value, Number) else Data.OPEN  # of a shape they are numbers
            hidden = Unknown("the elements of a value are not shown", data=data)
            element = join(one for one, _ in pairs) if pairs else hidden
            if (number := _as_number(element, loop)) is not None:
                return marked(number, (Mark(loop, Vary.NUMBER, via),)), None
            mark = (Mark(loop, Vary.OTHER, via),) if isinstance(element, Unknown) else ()
            return marked(element, (*mark, *chosen(value))), counts.pop() if len(counts) == 1 else None


def _by_methods(run: Interpreter, env: Env, value: Instance, node: ast.AST) -> Value | None:
    """What `__iter__` of an object of the project gives to be walked; None where that is an object, whose `__next__` is
    run, and where there is none, so that Python asks `__getitem__`."""
    from scanify.analysis.values.code.expressions import call_method

    if isinstance(value.cls, Library):
        return None
    if run.classes.method(value.cls, "__iter__") is None:
        protocols.asked(run, env, node, [value], ("__len__", "__getitem__"))
        return None
    inner = call_method(run, env, node, value, "__iter__", [])
    found = [option for option in options(inner) if isinstance(option, Instance)]
    protocols.asked(run, env, node, found, ("__next__",))
    return None if found else inner


def note_length(run: Interpreter, loop: int, walked: Value) -> None:
    """Note how the number of a loop's iterations differs between the iterations of the loops around it."""
    marks = _length(run, walked)
    if marks:
        run.loop_lengths[loop] = marks


def _length(run: Interpreter, walked: Value) -> Marks:
    match walked:
        case Walked(kind="range"):
            return walked.marks
        case Walked():
            return merged(_length(run, part) for part in walked.parts)
        case Key():
            return tuple(mark for mark in walked.marks if mark.how > Vary.KEY)
        case Array():
            return walked.shape
        case Listed():
            inner = (run.loop_lengths.get(loop, ()) for group in walked.cell.groups for loop in group.loops)
            return merged([walked.marks, *inner])
        case _:
            return ()


def _cannot_be_walked(value: Value) -> bool:
    """Whether to walk it is an error: None, where a list may be None. Code that is reached has another one."""
    return isinstance(value, Const) and not isinstance(value.value, str)


def entries(cell: DictCell) -> int | None:
    counts = [group.count for group in cell.groups]
    return len(cell.entries) + sum(one or 0 for one in counts) if cell.whole and None not in counts else None


def _element(run: Interpreter, env: Env, cell: ListCell, loop: int, node: ast.AST, via: str) -> Value:
    """An element of a list: what differs between its groups, or within one, differs between the iterations."""
    if not cell.groups:
        why, marks = cell.why or "an element of an empty list", (Mark(loop, Vary.OTHER, via),)
        return Unknown(why, cell.why_at, marks, data=cell.data)
    first = cell.groups[0].element
    constants = {repr(group.element.value) for group in cell.groups if isinstance(group.element, Const)}
    if len(constants) == 1 and all(isinstance(group.element, Const) for group in cell.groups):
        return first
    element = taken(cell.element(), Part(cell, walked=loop))
    given = [group for group in cell.groups if is_from_elsewhere(cell, group)]
    if given:
        return given_element(run, cell, element, given, loop, via)
    how = HOW_IT_VARIES.get(type(element), Vary.OTHER)
    if (number := _as_number(element, loop)) is not None:
        element, how = number, Vary.NUMBER
    if isinstance(element, Instance):
        return marked(element, own_marks(run, cell, element, loop, via))
    if isinstance(element, Listed):
        return row_of(cell, element, loop, via)
    if isinstance(element, OneOf) and (rows := rows_of_numbers(element)):
        mark = (Mark(loop, Vary.CHOICE if _holds_runs(cell) else Vary.NUMBER, via),)
        return tuple_of(run, env, node, [marked(join(parts), mark) for parts in zip(*rows, strict=True)])
    if how is Vary.NUMBER and len(cell.groups) > 1 and _holds_runs(cell):
        how = Vary.LISTED if _of_caller(cell) else Vary.CHOICE  # `[first, *others]`: the place in the list decides
    if how is Vary.OTHER and len(cell.groups) > 1 and _repeats_one(cell):
        how = Vary.LISTED if _of_caller(cell) else Vary.CHOICE  # `(activation,) * depth + (last,)`
    repeated = is_repeated(cell.groups[0]) or (cell.repeats is not None and _repeats_one(cell))
    plain = isinstance(first, Const | Number | Text) or repeated
    same = len(cell.groups) == 1 and not first.marks and plain
    if how is Vary.NUMBER and len(constants) < sum(isinstance(group.element, Const) for group in cell.groups):
        how = Vary.CHOICE if _come_back(cell) else Vary.SHAPE  # some of them repeat
    return element if same else marked(element, (Mark(loop, how, via),))


def _of_caller(cell: ListCell) -> bool:
    """Whether a caller lists some elements, or a table does, of which nothing says what they are: `[first, *sizes]`."""
    return any(
        isinstance(option, Unknown) for group in cell.groups if group.spread for option in options(group.element)
    )


def _repeats_one(cell: ListCell) -> bool:
    """Whether a table is made of one thing many times, and of others."""
    return any(group.count != 1 and not group.loops and not group.spread for group in cell.groups)


def _as_number(element: Value, loop: int) -> Value | None:
    """An element that is shown to be a number in some places and nowhere to be anything else; else None."""
    found = list(options(element))
    shown = [option for option in found if not isinstance(option, Unknown)]
    if len(shown) == len(found) or not shown or not all(isinstance(option, Number | Const) for option in shown):
        return None
    if any(isinstance(option, Const) and not isinstance(option.value, int | float) for option in shown):
        return None
    return join([without_marks(option, [loop]) for option in found])


def _holds_runs(cell: ListCell) -> bool:
    """Whether some elements of a table that follow one another may be equal."""
    if any(group.loops or group.count not in (None, 1) for group in cell.groups):
        return True
    unknown = [group for group in cell.groups if group.count is None]
    if any(not isinstance(group.element, Const) or is_repeated(group) for group in unknown):
        return True
    values = [group.element.value if isinstance(group.element, Const) else object() for group in cell.groups]
    return any(first == second == third for first, second, third in zip(values, values[1:], values[2:], strict=False))


def _come_back(cell: ListCell) -> bool:
    """Whether some may share what is made of them: three in a row are equal, or the table is one row three times."""
    values = [group.element.value for group in cell.groups if isinstance(group.element, Const)]
    if len(values) < len(cell.groups) or not all(type(value) is int for value in values):
        return True
    periods = (at for at in range(1, len(values) // 3 + 1) if values[at:] == values[:-at])
    return _holds_runs(cell) or next(periods, None) is not None


# How what a table holds differs from one iteration to the next.
HOW_IT_VARIES: dict[type, Vary] = {
    Key: Vary.KEY,
    Number: Vary.NUMBER,
    Text: Vary.NUMBER,
    Const: Vary.NUMBER,
    Array: Vary.NUMBER,
}


def _step(run: Interpreter, env: Env, walked: Walked, loop: int, node: ast.AST, via: str) -> tuple[Value, int | None]:
    number = Number((Mark(loop, Vary.NUMBER, via),))
    if walked.kind == "range":
        return number, walked.count
    if walked.kind == "keys":
        return Text((Mark(loop, Vary.NUMBER, via),)), walked.count
    steps = [iterate(run, env, part, loop, node, via) for part in walked.parts]
    counts = [count for _, count in steps]
    count = min((one for one in counts if one is not None), default=None)
    if walked.kind in ("reversed", "iter", "filter"):
        return steps[0]
    if walked.kind == "values":
        inner = walked.parts[0]
        if not isinstance(inner, Mapped):
            return steps[0]
        return _value_in(run, env, inner.cell, loop, node, via), entries(inner.cell)
    if walked.kind == "items":
        inner = walked.parts[0]
        name = Text((Mark(loop, Vary.NUMBER, via),))
        value = Unknown("a value of a dict", marks=(Mark(loop, Vary.OTHER, via),))
        held = _value_in(run, env, inner.cell, loop, node, via) if isinstance(inner, Mapped) else value
        return tuple_of(run, env, node, [name, held]), steps[0][1]
    if walked.kind == "enumerate":
        return tuple_of(run, env, node, [number, steps[0][0]]), steps[0][1]
    if walked.kind == "pairwise" and walked.parts:
        after, _ = iterate(run, env, walked.parts[0], loop, node, via)
        return tuple_of(run, env, node, [steps[0][0], after]), max(count - 1, 0) if count is not None else None
    if walked.kind == "product":
        return tuple_of(run, env, node, [element for element, _ in steps]), None
    return tuple_of(run, env, node, [element for element, _ in steps]), count


_PLAIN = (Number, Text, Const, Array, Key, Unknown)


def _value_in(run: Interpreter, env: Env, cell: DictCell, loop: int, node: ast.AST, via: str) -> Value:
    """A value of a dict: plain ones are told apart like the elements of a list."""
    value = cell.value()
    if not all(isinstance(option, _PLAIN) for option in options(value)):
        return value
    values = ListCell(node, env.module, cell.born, whole=cell.whole, why=cell.why, why_at=cell.why_at, given=cell.given)
    values.groups = [*(Group(one, node, env.module) for one in cell.entries.values()), *cell.groups]
    return _element(run, env, values, loop, node, via)


def tuple_of(run: Interpreter, env: Env, node: ast.AST, values: list[Value]) -> Listed:
    """A tuple that is made on the way."""
    cell = ListCell(node, env.module, run.tick(), function=env.function, is_tuple=True)
    cell.groups = [Group(value, node, env.module) for value in values]
    return Listed(cell)
