"""Targets: the names that an assignment, a loop or a comprehension binds, and what each is given."""

import ast

from scanify.analysis.values.domain import (
    Const,
    Key,
    Listed,
    Mapped,
    OneOf,
    Unknown,
    Value,
    Walked,
    chosen,
    join,
    marked,
    options,
    without_marks,
)
from scanify.analysis.values.heap import Group, ListCell
from scanify.analysis.values.iterations.iteration import HOW_IT_VARIES, iterate
from scanify.analysis.values.marks import Marks, Vary
from scanify.analysis.values.objects.part import Part, item, part_of, taken
from scanify.analysis.values.objects.sharing import are_apart
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def bind_target(run: Interpreter, env: Env, target: ast.expr, value: Value) -> None:
    """Bind the names of a target; what it stores into is for `statements`."""
    match target:
        case ast.Name(id=name):
            _note_outward(run, env, target)
            env.bind(name, value)
        case ast.Starred(value=inner):
            bind_target(run, env, inner, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each, part in zip(targets, unpacked(run, env, target, value, targets), strict=True):
                bind_target(run, env, each, _by_own_name(part, each))
        case ast.Attribute() | ast.Subscript():
            from scanify.analysis.values.code.stores import store

            store(run, env, target, value)


def _note_outward(run: Interpreter, env: Env, target: ast.Name) -> None:
    """Note that a name is written to that lasts: one of the file, or of a function around."""
    name = target.id
    if name in env.global_names:
        run.effect(Act.WRITE, name, target, env)
        run.churned.write((env.module.path, name), 0, name, env.call)
    elif name in env.outer_names and (around := env.around(name)) is not None:
        run.effect(Act.WRITE, name, target, env, born=around.call)
        run.churned.write((around, name), around.call, name, env.call)


def _by_own_name(part: Value, target: ast.expr) -> Value:
    """A part of what a tuple is bound to, which differs through its own name, not through that of the whole tuple."""
    if not any(mark.via.startswith("(") for mark in (*part.marks, *chosen(part))):
        return part
    name = ast.unparse(target)
    if isinstance(part, OneOf):
        options = tuple(_by_own_name(option, target) for option in part.options)
        return OneOf(options, _named(part.marks, name), _named(part.chosen, name))
    return replace(part, marks=_named(part.marks, name))


def _named(marks: Marks, name: str) -> Marks:
    return tuple(replace(mark, via=name) if mark.via.startswith("(") else mark for mark in marks)


def unpacked(run: Interpreter, env: Env, node: ast.AST, value: Value, targets: list[ast.expr]) -> list[Value]:
    """What each target of an unpacking is given."""
    star = next((at for at, each in enumerate(targets) if isinstance(each, ast.Starred)), None)
    if isinstance(value, Listed) and value.cell.whole and all(one.count == 1 for one in value.cell.groups):
        parts = [group.element for group in value.cell.groups]
        if not value.cell.is_tuple:
            parts = [taken(part, item(value.cell, at)) for at, part in enumerate(parts)]
        if star is None and len(parts) == len(targets):
            return parts
        if star is not None and len(parts) >= len(targets) - 1:
            behind = len(targets) - star - 1
            middle = parts[star : len(parts) - behind]
            rest = ListCell(node, env.module, run.tick(), function=env.function)
            rest.groups = [Group(each, node, env.module, part=part_of(each)) for each in middle]
            rest.copied = value.cell
            return [*parts[:star], Listed(rest), *parts[len(parts) - behind :]]
    if isinstance(value, OneOf) and star is None:
        columns = _columns(value, len(targets))
        if columns is not None:
            return columns
    if isinstance(value, Key):
        return [Key(value.marks, many=isinstance(each, ast.Starred)) for each in targets]
    loop = run.new_loop()
    parts = []
    for at, each in enumerate(targets):
        element, _ = iterate(run, env, value, loop, node, "")
        element = without_marks(element, [loop])
        element = replace(element, part=True) if isinstance(element, Unknown) else element
        walked = value.parts[0] if isinstance(value, Walked) and value.parts else value
        source = walked.cell if isinstance(walked, Listed) and walked is value else None
        if isinstance(each, ast.Starred):
            own = isinstance(walked, Listed | Mapped) and are_apart(walked.cell)
            part = Part(source, at, at + 1 - len(targets) or None)
            cell = ListCell(node, env.module, run.tick(), function=env.function)
            cell.groups = [Group(element, node, env.module, (loop,), None, own=own, part=part)]
            cell.copied = walked.cell if isinstance(walked, Listed | Mapped) else None
            parts.append(Listed(cell))
        else:
            number = at if star is None or at < star else at - len(targets)
            parts.append(taken(element, item(source, number) if source is not None else Part()))
    return parts


def _columns(value: OneOf, width: int) -> list[Value] | None:
    """What each target is given where a table of tuples is unpacked: `for dim, depth in ((64, 2), (128, 3))`."""
    rows: list[list[Value]] = []
    for option in options(value):
        groups = option.cell.groups if isinstance(option, Listed) and option.cell.whole else []
        if len(groups) != width or any(group.count != 1 for group in groups):
            return None
        rows.append([group.element for group in groups])
    columns: list[Value] = []
    for column in zip(*rows, strict=True):
        joined = join(column)
        how = HOW_IT_VARIES.get(type(joined), Vary.OTHER)
        marks = tuple(replace(mark, how=how) if mark.how is Vary.OTHER else mark for mark in value.marks)
        columns.append(joined if isinstance(joined, Const) else marked(joined, marks))
    return columns
