"""Stores: what assignments put into attributes, elements and names, and where an object of the heap is kept."""

import ast
from collections.abc import Iterator

from scanify.analysis.values.calls.allocate import store_entry
from scanify.analysis.values.calls.functions.descriptors import told_of_store
from scanify.analysis.values.code.expressions import evaluate
from scanify.analysis.values.domain import (
    Array,
    Class,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Number,
    Partial,
    Text,
    Unknown,
    Value,
    join,
    marked,
    options,
)
from scanify.analysis.values.heap import DictCell, Does, Group, ListCell
from scanify.analysis.values.marks import Mark, Vary
from scanify.analysis.values.objects.identity import note_change, note_store
from scanify.analysis.values.objects.part import part_of
from scanify.analysis.values.objects.sharing import made_since
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.churned import ARRAY
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter, Stored


def note_stores(run: Interpreter, env: Env, node: ast.stmt, target: ast.expr, given: ast.expr, value: Value) -> None:
    """Note which expression an object of the heap is assigned from, for each target by itself."""
    if isinstance(target, ast.Tuple | ast.List) and isinstance(given, ast.Tuple | ast.List):
        plain = not any(isinstance(each, ast.Starred) for each in (*target.elts, *given.elts))
        if plain and len(target.elts) == len(given.elts) and isinstance(value, Listed):
            for each, part, group in zip(target.elts, given.elts, value.cell.groups, strict=False):
                note_stores(run, env, node, each, part, group.element)
        return
    if not isinstance(target, ast.Name | ast.Attribute):
        return
    attribute = target.attr if isinstance(target, ast.Attribute) else None
    holder = evaluate(run, env, target.value) if isinstance(target, ast.Attribute) else None
    owner = holder.cls if isinstance(holder, Instance) and not isinstance(holder.cls, Library) else None
    for option in options(value):
        if isinstance(option, Listed | Mapped):
            building = 0 < run.building <= option.cell.born
            known = run.stores.setdefault(option.cell.node, {})
            # Uses are noted when they are first met, so that an assignment that is run again stays before them.
            clock = known[target].clock if target in known else run.tick()
            known[target] = Stored(node, target, given, env.module, env.function, owner, attribute, clock, building)


def as_loaded(target: ast.expr) -> ast.expr:
    """A target as the expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def store(run: Interpreter, env: Env, target: ast.Attribute | ast.Subscript, value: Value) -> None:
    """Store into an attribute or an element."""
    owner = evaluate(run, env, target.value)
    if isinstance(owner, Unknown) and isinstance(target.value, ast.Name) and (marks := run.ambient(target.value.id)):
        env.bind(target.value.id, marked(owner, marks))  # an object that is another one in each iteration from here on
    for option in options(owner):
        if isinstance(option, Unknown):
            run.churned.write((option.why, option.at), option.born, env.code(target), env.call)
    if isinstance(target, ast.Attribute):
        found = list(options(owner))
        having = [option for option in found if not isinstance(option, Array | Const | Number | Text | Key)]
        for option in having or found:  # arrays and numbers take no attributes: where one is stored it is another value
            store_attribute(run, env, target, option, target.attr, value)
        return
    _touch_holder(run, env, target)
    key = evaluate(run, env, target.slice) if not isinstance(target.slice, ast.Slice) else Unknown("a slice")
    for option in options(owner):
        _store_element(run, env, target, option, key, value)


def _touch_holder(run: Interpreter, env: Env, target: ast.Subscript) -> None:
    """Note that an array of an object is written into in place: `layer.weight[0] = w`."""
    inner = target.value
    while isinstance(inner, ast.Subscript):
        inner = inner.value
    touch_by_name(run, env, inner, target)
    if isinstance(inner, ast.Attribute) and inner.attr != "__dict__":
        for option in options(evaluate(run, env, inner)):
            if not isinstance(option, Array | Unknown):
                return
        for option in options(evaluate(run, env, inner.value)):
            if isinstance(option, Instance) and not _is_self(env, option):
                run.touch(option, Does.CHANGE, target, env)


def touch_by_name(run: Interpreter, env: Env, fields: ast.expr, node: ast.AST) -> None:
    """Note that fields of an object are written by their names: `vars(layer)[...] = x`, `x.__dict__.update(...)`."""
    match fields:
        case ast.Attribute(value=owner, attr="__dict__") | ast.Call(func=ast.Name(id="vars"), args=[owner]):
            for option in options(evaluate(run, env, owner)):
                if isinstance(option, Instance) and (option.whole or not _is_self(env, option)):
                    run.touch(option, Does.CHANGE, node, env)


def store_attribute(run: Interpreter, env: Env, node: ast.AST, owner: Value, name: str, value: Value) -> None:
    """Store into an attribute: of an object that is being made, or of another one, which is a write."""
    for option in options(value):
        if isinstance(option, Listed | Mapped) and not _is_self(env, owner):
            run.use(option.cell, Does.STORE, node, env, name)
    if isinstance(owner, Instance) and not isinstance(owner.cls, Library):
        told_of_store(run, env, node, owner, name, value)
        building = 0 < run.building <= owner.born
        run.churned.write((id(owner.fields), name), owner.born, env.code(node), env.call, owner.fields)
        note_store(run, owner, name, value)
        own = _is_self(env, owner) or building or run.is_fresh(owner.born, env.call)
        if own and owner.taken is not None and ((owner.whole and building) or not _is_self(env, owner)):
            owner.fields[name] = _in_some(owner, name, value, env.code(node))
        elif own or name not in owner.fields:
            owner.fields[name] = value
        elif others := list(_called_otherwise(owner.fields[name], value)):
            # What a function stores into its caller's object is noted, and no more, but for what may be called there.
            owner.fields[name] = join([owner.fields[name], *others])
        if not _is_self(env, owner) or owner.whole or not building:
            run.effect(Act.WRITE, env.code(node), node, env, born=owner.born, owner=owner)
            run.touch(owner, Does.CHANGE, node, env)
            if not building:
                run.replace(owner, name, node, env)
        return
    run.replace(owner, name, node, env)
    if isinstance(owner, Class):
        run.churned.write((owner.definition.node, name), 0, env.code(node), env.call)
    if isinstance(owner, Instance):
        run.touch(owner, Does.CHANGE, node, env)
    run.effect(Act.WRITE, env.code(node), node, env, owner=owner)


def _in_some(owner: Instance, name: str, value: Value, code: str) -> Value:
    """What a field of a list's elements holds once it was stored into that of one of them, or of some."""
    known = owner.fields.get(name)
    if known is None or all(isinstance(option, Array) for each in (known, value) for option in options(each)):
        return value if known is None else join([known, value])
    if isinstance(value, Const) and value == known:
        return value
    cell = owner.taken.of if owner.taken is not None else None
    groups = cell.groups if isinstance(cell, ListCell | DictCell) else []
    loops = [loop for group in groups for loop in group.loops if _holds(group.element, owner)]
    return marked(join([known, value]), tuple(Mark(loop, Vary.OTHER, code) for loop in dict.fromkeys(loops)))


def _holds(element: Value, owner: Instance) -> bool:
    return any(isinstance(option, Instance) and option.fields is owner.fields for option in options(element))


def _called_otherwise(known: Value, value: Value) -> Iterator[Value]:
    """The functions that a value may be, and objects of other classes than those that are known."""
    classes = {option.name for option in options(known) if isinstance(option, Instance)}
    for option in options(value):
        other = isinstance(option, Instance) and option.name not in classes
        if other or isinstance(option, Function | Partial | Class | Library):
            yield option


def _is_self(env: Env, owner: Value) -> bool:
    around: Env | None = env
    while around is not None and around.self_name is None:
        around = around.parent
    return around is not None and around.lookup(around.self_name or "") is owner


def _store_element(run: Interpreter, env: Env, target: ast.Subscript, owner: Value, key: Value, value: Value) -> None:
    code = env.code(target)
    if isinstance(owner, Listed | Mapped):
        run.churned.write(owner.cell, owner.cell.born, code, env.call)
        note_change(run, owner.cell, value)
    elif isinstance(owner, Array):
        run.churned.write((ARRAY, owner.born), owner.born, code, env.call)
    if isinstance(owner, Mapped):
        cell = owner.cell
        loops = run.loops_since(cell.born)
        conditional = run.conditional_since(cell.born)
        count: int | None = 1
        for region in loops:
            count = count * region.count if count is not None and region.count is not None else None
        numbers = tuple(region.loop for region in loops)
        own = made_since(run, value, loops[-1].turn if loops else 0)
        store_entry(cell, key, value, target, env, numbers, None if conditional else count, conditional, own)
        if not any(each is target for each in cell.grown):
            cell.grown.append(target)
        run.use(cell, Does.GROW, target, env)
        run.effect(Act.COLLECT, env.code(target.value), target, env, born=cell.born, root=cell.node)
    elif isinstance(owner, Listed):
        _placed(run, env, target, owner, value)
        run.effect(Act.COLLECT, env.code(target.value), target, env, born=owner.cell.born, root=owner.cell.node)
    elif isinstance(owner, Instance) and not isinstance(owner.cls, Library):
        from scanify.analysis.values.code.expressions import call_method

        call_method(run, env, target, owner, "__setitem__", [key, value])
    else:
        from scanify.analysis.values.calls.calls import given_whole

        for option in (*options(key), *options(value)) if isinstance(owner, Unknown) else ():
            given_whole(run, env, target, option)
        run.effect(Act.COLLECT, env.code(target.value) if code else code, target, env, owner=owner)


def _placed(run: Interpreter, env: Env, target: ast.Subscript, owner: Listed, value: Value) -> None:
    """`layers[i] = layer`: filling a list that was made of nothing at its full length, or changing one."""
    cell = owner.cell
    nothing = bool(cell.groups) and all(
        (isinstance(group.element, Const) and group.element.value is None) or group.node is target
        for group in cell.groups
    )
    loops = run.loops_since(cell.born)
    if nothing:
        count = next((group.count for group in cell.groups), None)
        kept = [group for group in cell.groups if not isinstance(group.element, Const) and group.node is not target]
        once = not loops
        own = made_since(run, value, loops[-1].turn if loops else 0)
        around = tuple(region.loop for region in loops)
        made = Group(value, target, env.module, around, 1 if once else count, own=own, part=part_of(value))
        cell.groups = [*kept, made]
        cell.repeats = None
        if not any(each is target for each in cell.grown):
            cell.grown.append(target)
        run.use(cell, Does.GROW, target, env)
        return
    run.use(cell, Does.CHANGE, target, env, env.code(target))
    if cell.groups:
        cell.groups = [replace(group, conditional=True) for group in cell.groups]
        cell.groups.append(Group(value, target, env.module, conditional=True, count=None, part=part_of(value)))
