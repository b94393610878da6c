"""Subscripts: elements and parts of lists, dicts, keys and arrays."""

import ast
import functools
from collections.abc import Iterator, Sequence

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.allocate import new_list
from scanify.analysis.values.calls.arrays import bound, picked_by
from scanify.analysis.values.calls.extents import cut_by
from scanify.analysis.values.calls.functions.descriptors import of_metaclass
from scanify.analysis.values.calls.resizing import combined
from scanify.analysis.values.calls.rows import rows_of_part
from scanify.analysis.values.code.expressions import call_method, evaluate
from scanify.analysis.values.domain import (
    NONE,
    Array,
    Class,
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
    chosen,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.iterations.elements import are_settings, is_apart, is_from_elsewhere
from scanify.analysis.values.iterations.iteration import elements_of
from scanify.analysis.values.marks import Marks, Vary, as_keys, merged, raised
from scanify.analysis.values.objects.part import Part, item, taken
from scanify.analysis.values.objects.protocols import KEY, asked, data_of, note_operation
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.churned import ARRAY
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.size import LONGER, NOT_LONGER, SAME, SHORTER, Change, Size, after


def subscript(run: Interpreter, env: Env, node: ast.Subscript) -> Value:
    owner = evaluate(run, env, node.value)
    if isinstance(node.slice, ast.Slice):
        for part in (node.slice.lower, node.slice.upper, node.slice.step):
            if part is not None:
                end = evaluate(run, env, part)
                asked(run, env, part, [end], ("__index__",))
                bound(run, env, part, end)
        return marked(join(_sliced(run, env, node, option) for option in _with_parts(owner)), chosen(owner))
    index = evaluate(run, env, node.slice)
    asked(run, env, node, [index], KEY)
    parts = _with_parts(owner)
    return marked(join(_read(run, option, _item(run, env, node, option, index)) for option in parts), chosen(owner))


def _read(run: Interpreter, owner: Value, value: Value) -> Value:
    """What is read of an object that loops around may write to."""
    if isinstance(owner, Listed | Mapped):
        return run.churned.read(owner.cell, value)
    if isinstance(owner, Unknown):
        return run.churned.read((owner.why, owner.at), value)
    return run.churned.read((ARRAY, owner.born), value) if isinstance(owner, Array) and owner.numpy else value


def _with_parts(value: Value) -> list[Value]:
    """What a value may be where a part of it is taken, which a number or None does not have."""
    found = list(options(value))
    plain = [each for each in found if isinstance(each, Number) or (isinstance(each, Const) and each.value is None)]
    return [each for each in found if each not in plain] or found


def _sliced(run: Interpreter, env: Env, node: ast.Subscript, owner: Value) -> Value:
    if isinstance(owner, Listed):
        run.use(owner.cell, Does.SLICE, node, env)
        cell = new_list(run, env, node, is_tuple=owner.cell.is_tuple)
        spread = elements_of(run, env, owner, node)
        part = node.slice
        assert isinstance(part, ast.Slice)
        bounds = (_number(part.lower), _number(part.upper)) if part.step is None else (None, None)
        cell.groups = [_part_of(group, owner.cell, *bounds) for group in cut(spread.groups, part)]
        cell.whole, cell.why, cell.copied, cell.repeats = spread.whole, spread.why, owner.cell, owner.cell.repeats
        return Listed(cell, owner.marks)
    if isinstance(owner, Key):
        return Key(owner.marks, many=True)
    if isinstance(owner, Instance):
        run.use_of(owner, Does.SLICE, node, env)
    note_operation(run, env, node, [owner], ("__getitem__",))
    if isinstance(owner, Array):
        assert isinstance(node.slice, ast.Slice)
        return replace(owner, size=_size_of_part(run, env, node, owner), rows=rows_of_part(owner.rows, node.slice))
    if isinstance(owner, Unknown) and owner.extent is not None:
        return replace(owner, extent=owner.extent.part)
    return owner if isinstance(owner, Text | Unknown) else Unknown("a part of a value", marks=owner.marks)


def cut(groups: Sequence[Group], part: ast.Slice) -> list[Group]:
    """What `[...][part]` has of a list's groups: all that may be in it, without those that are surely not."""
    kept = list(groups)
    if part.step is not None:
        return kept
    lower, upper = _number(part.lower), _number(part.upper)
    if lower is not None and lower > 0 and (part.upper is None or upper is not None):
        kept = _without(kept, lower)
    if upper is not None and upper < 0 and (part.lower is None or lower is not None):
        kept = _without(kept[::-1], -upper)[::-1]
    return kept or list(groups)


def _number(node: ast.expr | None) -> int | None:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case _:
            return None


def _without(groups: list[Group], first: int) -> list[Group]:
    """Groups without so many first elements, as far as it is known which those are."""
    while groups and first and not groups[0].conditional and groups[0].count is not None:
        if groups[0].count > first:
            return [replace(groups[0], count=groups[0].count - first), *groups[1:]]
        first -= groups[0].count
        groups = groups[1:]
    return [replace(each, conditional=True) for each in groups] if first else groups


def _part_of(group: Group, cell: ListCell, first: int | None, last: int | None) -> Group:
    within = group.part or Part(cell)
    part = Part(cell, first, last, within.group) if within.of is cell else Part(within.of, None, None, within.group)
    return replace(group, count=None, conditional=True, part=part)


def _item(run: Interpreter, env: Env, node: ast.Subscript, owner: Value, index: Value) -> Value:
    marks = raised(index.marks, Vary.CHOICE)
    note_operation(run, env, node, [owner], ("__getitem__",))
    match owner:
        case Listed():
            run.use(owner.cell, Does.INDEX, node, env)
            element = element_at(owner.cell, index)
            if _is_one_value(owner.cell):
                return element
            if isinstance(element, Key):
                return marked(element, as_keys(index.marks))
            numbers = _are_numbers(element) and not _repeats(run, owner.cell)
            given = [each for each in owner.cell.groups if is_from_elsewhere(owner.cell, each)]
            own = index.marks
            if not all(is_apart(run, each) for each in given):
                marks = own = raised(index.marks, Vary.LISTED)
            if any(are_settings(run, [each]) for each in given):
                own = raised(index.marks, Vary.SHAPE)
            return marked(element, own if numbers else marks)
        case Mapped():
            known = owner.cell.entries.get(index.value) if isinstance(index, Const) else None
            if known is not None:
                return taken(known, Part(owner.cell))
            run.use(owner.cell, Does.INDEX, node, env)
            how = Vary.LISTED if _lists_each(owner.cell) else Vary.CHOICE
            picked = tuple(replace(mark, how=how) for mark in marks)
            return marked(owner.cell.value(), merged([owner.marks, picked]))
        case Key():
            return Key(as_keys(index.marks) or owner.marks)
        case Array():
            size = _size_of_part(run, env, node, owner)
            if not _is_updated(node):
                picked_by(run, env, node, index)
            born = owner.born if owner.numpy else run.tick()
            shape = merged([owner.shape, *_shapes_in(index)])
            return Array(owner.numpy, merged([owner.marks, index.marks]), shape, born=born, size=size)
        case Text() | Number() | Const():
            marks = merged([owner.marks, index.marks])
            return Text(marks) if not isinstance(owner, Number) else Number(marks)
        case Instance(cls=Library(), fields={"layers": Listed(cell=cell)}):
            return element_at(cell, index)
        case Instance(cls=Library(qualname="collections.defaultdict"), fields={"default_factory": factory}):
            return _or_made(run, env, node, owner, factory)
        case Instance():
            return call_method(run, env, node, owner, "__getitem__", [index])
        case Class():
            return _of_class(run, env, node, owner, index)
        case Unknown(given=True, part=False) if index.marks:  # an element of what a caller lists, as in a walk
            marks = merged([owner.marks, index.marks])
            return replace(owner, marks=marks, computed=False, extent=None, argument=owner.part_at("[...]"))
        case Unknown():
            marks, argument = merged([owner.marks, index.marks]), owner.part_at(env.code(node.slice))
            why, data = f"`{env.code(node)}` is not shown", data_of(run, [owner])
            extent = owner.extent.part if owner.extent is not None else None
            return Unknown(why, env.place(node), marks, extent=extent, data=data, argument=argument)
        case _:
            run.effect(Act.UNKNOWN, env.code(node), node, env)
            marks = merged([owner.marks, index.marks])
            return Unknown(f"`{env.code(node)}` is not shown", env.place(node), marks)


def _or_made(run: Interpreter, env: Env, node: ast.Subscript, owner: Instance, factory: Value) -> Value:
    """What a `defaultdict` has under a key, or makes and keeps where it has nothing."""
    from scanify.analysis.values.calls.calls import call

    if factory != NONE:
        call(run, env, node, factory, [], {})
        run.effect(Act.WRITE, env.code(node.value), node, env, born=owner.born)
    return Unknown(f"`{env.code(node)}` is not shown", env.place(node), run.ambient(env.code(node.value)), run.tick())


def _of_class(run: Interpreter, env: Env, node: ast.Subscript, owner: Class, index: Value) -> Value:
    """`Block[int]`: what `__class_getitem__` gives, or what the metaclass does."""
    if run.classes.method(owner.definition, "__class_getitem__") is not None:
        return call_method(run, env, node, owner, "__class_getitem__", [index])
    made = of_metaclass(run, env, node, owner, "__getitem__")
    return made if made is not None else owner


def _shapes_in(index: Value) -> Iterator[Marks]:
    """How the shapes of the arrays in an index differ, which are those of what it takes: `w[rows, columns]`."""
    for option in options(index):
        if isinstance(option, Array):
            yield option.shape
        elif isinstance(option, Listed):
            for group in option.cell.groups:
                yield from _shapes_in(group.element)


def _are_numbers(element: Value) -> bool:
    """Whether an element is a number as far as is known, be it one that a caller gives: of `(n, *widths)` each is."""
    if not isinstance(element, OneOf):
        return isinstance(element, Number | Const | Array | Unknown)
    kinds = {type(option.value) if isinstance(option, Const) else type(option) for option in options(element)}
    return kinds <= {Number, Array, Unknown, int, float}


def _lists_each(cell: DictCell) -> bool:
    """Whether a dict has another constant under each of its keys: `{"force": 6, "tactile": 12}`."""
    values = [value.value for value in cell.entries.values() if isinstance(value, Const)]
    return cell.whole and not cell.groups and 1 < len(set(values)) == len(cell.entries)


def _is_one_value(cell: ListCell) -> bool:
    """Whether every element of a list is the same number or text: `[8] * depth`."""
    first = cell.groups[0].element if cell.groups else None
    plain = isinstance(first, Const | Number | Text) and not first.marks
    return cell.whole and plain and cell.repeats is not None and len(cell.groups) == 1


def _repeats(run: Interpreter, cell: ListCell) -> bool:
    """Whether a list has one value many times, as `(width,) * depth` and `(3, 3, 3, 5)` do."""
    written = [group.element for group in cell.groups if isinstance(group.element, Const)]
    return any(written.count(each) > 2 for each in written) or any(
        group.count != 1 and not group.loops and not is_apart(run, group) for group in cell.groups
    )


def element_at(cell: ListCell, index: Value) -> Value:
    groups = cell.groups
    position = index.value if isinstance(index, Const) and isinstance(index.value, int) else None
    if position is not None and cell.whole and all(group.count == 1 and not group.loops for group in groups):
        if -len(groups) <= position < len(groups):
            return taken(groups[position].element, item(cell, position))
        return Unknown("an index beyond the list")
    if not groups:
        return Unknown(cell.why or "an element of an empty list", cell.why_at, data=cell.data)
    return cell.element() if position is None else taken(cell.element(), item(cell, position))


# -- the sizes of parts of arrays --------------------------------------------------------------------------------------


def _size_of_part(run: Interpreter, env: Env, node: ast.Subscript, owner: Array) -> Size | None:
    """The size of a part of an array: shorter where numbers cut some of it off, longer with an axis that is added."""
    size = combined([owner])
    if size is None or _is_updated(node):
        return size  # what is updated there is in the whole
    if size.each:
        return size if isinstance(node.slice, ast.Slice) else replace(size, each=False)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    moves = [_of_part(run, env, part, size) for part in parts]
    if not any(moves) and None not in moves:
        return size
    total = functools.reduce(after, moves) if None not in moves else None
    return size.moved(None, total, env.code(node), env.place(node))


def _is_updated(node: ast.Subscript) -> bool:
    """Whether a subscript says what is updated: `x.at[i]`."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "at"


def _of_part(run: Interpreter, env: Env, part: ast.expr, size: Size | None) -> Change:
    match part:
        case ast.Constant(value=value) if value is ...:
            return SAME
        case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
            return LONGER
        case ast.Constant(value=int()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return SHORTER
        case ast.Slice(lower=None, upper=None, step=None):
            return SAME
        case ast.Slice(lower=lower, upper=upper, step=step):
            if _cuts(lower, upper, step):
                return SHORTER
            bounds = (_length(run, env, lower), _length(run, env, upper)) if size is not None and size.extent else None
            return SHORTER if size is not None and bounds and cut_by(*bounds, size.of) else NOT_LONGER
        case _:
            return None


def _cuts(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None) -> bool:
    """Whether a slice leaves something out of an axis of any length: every other one, the first, the last."""
    every = isinstance(step, ast.Constant) and isinstance(step.value, int) and step.value > 1
    front = isinstance(lower, ast.Constant) and isinstance(lower.value, int) and lower.value > 0 and upper is None
    back = isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub) and isinstance(upper.operand, ast.Constant)
    return every or front or (back and (lower is None or front))


def _length(run: Interpreter, env: Env, bound: ast.expr | None) -> Value | None:
    """What a bound of a slice stands for, which has been evaluated before: a call would be run a second time."""
    if bound is None:
        return None
    calls = any(isinstance(each, ast.Call) and ast.unparse(each.func) not in ("len", "int") for each in nodes_in(bound))
    return evaluate(run, env, bound) if not calls else Unknown("a call")
