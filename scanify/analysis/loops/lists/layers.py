"""The layers of a loop: which of its walks goes over modules, and what is known of them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.applied import applies
from scanify.analysis.loops.judged import judged, mixed, together
from scanify.analysis.loops.lists.given import composed, held, may_be_called_elsewhere, of_any_class
from scanify.analysis.loops.lists.layer_list import FUNCTIONS, Layers, groups_of, sources
from scanify.analysis.loops.lists.unshown import empty, modules_among, nothing_shown, says_no_class, shown_of, unclear
from scanify.analysis.lower.loop import Form, Loop, Order, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.code.subscripts import cut
from scanify.analysis.values.domain import (
    Array,
    Const,
    Function,
    Instance,
    Key,
    Library,
    Listed,
    Mapped,
    Method,
    Number,
    OneOf,
    Partial,
    Text,
    Unknown,
    Value,
    Walked,
    options,
)
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.objects.likeness import distinct, is_layer
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Handed, Interpreter
from scanify.analysis.values.run.probe import again

_DEEPEST = 3  # tuples in tuples


def layers_of(run: Interpreter, loop: Loop, envs: Sequence[Env]) -> Layers | None:
    """The walk of a loop that goes over modules: best one that the body applies; None where none does."""
    found: list[Layers] = []
    for walk in loop.walks:
        layers = _of_walk(run, loop, walk, envs)
        if layers is not None:
            found.append(layers)
    left = loop.problem is not None  # then what it takes by number still stands in the body
    applied = [layers for layers in found if applies(loop, layers.walk) or (left and layers.walk.element is not None)]
    whole = [layers for layers in applied if layers.walk.order is Order.WHOLE and layers.known]
    known = [layers for layers in applied if layers.known]
    return next(iter((*whole, *known, *applied)), None)


# -- one walk --------------------------------------------------------------------------------------------------------


def walked_values(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> list[Value]:
    """What the container of a walk may be, where the loop is reached; of several callers each."""
    values = all_values(run, walk, envs)
    known: list[Value] = [value for value in values if not isinstance(value, Unknown)]
    return known or values


def all_values(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> list[Value]:
    """What the container of a walk may be, what nothing is known of included."""
    values: list[Value] = []
    with run.question(), run.recording():
        for env in envs:
            for base in walk.bases:
                values += options(again(run, env, base))
    return [value for value in values if not _of_none(value)]


def _of_none(value: Value) -> bool:
    """An attribute of None, where an object may be None: code that is reached has another one."""
    return isinstance(value, Method) and isinstance(value.owner, Const)


def _held(
    run: Interpreter, loop: Loop, walk: Walk, envs: Sequence[Env], owner: Definition | None, attribute: str | None
) -> Handed:
    """What the container of a walk may be, by all that the project shows of who gives it."""
    values = all_values(run, walk, envs)
    if owner is not None and attribute is not None and isinstance(walk.base, ast.Attribute):
        return held(run, owner, attribute, values)
    shown = [value for value in values if not (isinstance(value, Unknown) and value.given)]
    if not shown or len(shown) == len(values):
        return Handed(tuple(values))
    function = loop.scope.function
    probe = run.probes.get(loop.node)
    seen = probe is not None and not probe.missed
    if seen and function is not None and not may_be_called_elsewhere(run, loop.module, function.node):
        return Handed(tuple(shown))
    return Handed(tuple(values))


def fields_walked(
    run: Interpreter, loop: Loop, envs: Sequence[Env]
) -> Iterator[tuple[Definition, str, Sequence[Value]]]:
    """The fields of classes of the project that a loop walks, with what they may be where it is reached."""
    for walk in loop.walks:
        owner, attribute = _holder(run, walk, envs)
        if owner is not None and attribute is not None:
            yield owner, attribute, all_values(run, walk, envs)


def kept_as(run: Interpreter, loop: Loop, envs: Sequence[Env]) -> set[str]:
    """The attributes that hold what a loop walks by a local name, or what that is a copy or a part of."""
    named = [walk for walk in loop.walks if any(isinstance(base, ast.Name) for base in walk.bases)]
    cells = [cell for walk in named for cell in sources(_cells(run, walked_values(run, walk, envs)))]
    stores = (stored for cell in cells for stored in run.stores.get(cell.node, {}).values())
    return {stored.attribute for stored in stores if stored.attribute is not None}


def _of_walk(run: Interpreter, loop: Loop, walk: Walk, envs: Sequence[Env]) -> Layers | None:
    if loop.form is not Form.SEQUENTIAL and not all(_has_name(base) for base in walk.bases):
        return None
    owner, attribute = _holder(run, walk, envs)
    handed = _held(run, loop, walk, envs, owner, attribute)
    values = list(handed.values)
    if walk.element is not None and values and any(isinstance(value, Instance) for value in values):
        return None
    optional = any(isinstance(value, Const) and value.value is None for value in values)
    values = [value for value in values if not (isinstance(value, Const) and value.value is None)]
    cells = list(_cells(run, values))
    mixed = next(_unknown_choices(run, walk, envs), None) if any(_holds_modules(run, cell) for cell in cells) else None
    if mixed is not None:
        text = f"cannot tell which class the layers have: {mixed.why}"
        return Layers(walk, tuple(cells), (), refusal=("SCN201", text, mixed.at))
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    view = any(isinstance(value, Walked) for value in values) or any(_is_part(cell, walk) for cell in cells)
    by_key = walk.order is Order.VALUES or walk.element is not None or _takes_values(walk.source)
    if any(isinstance(cell, DictCell) and not by_key and not _viewed(values) for cell in cells):
        return None  # the names of a dict
    if walk.order is Order.VALUES and any(isinstance(cell, ListCell) for cell in cells):
        return None
    if isinstance(walk.base, ast.Name) and any(cell.given and not groups_of(cell) for cell in cells):
        owner, attribute = _aliased(walk.base.id, envs)
    base = Layers(walk, tuple(cells), (), optional=optional, view=view, owner=owner, attribute=attribute, why=unknown)
    if values and all(_is_sequential(value) for value in values):
        made = [value.node for value in values if isinstance(value, Instance)]
        base = replace(base, sequentials=tuple(node for node in made if node is not None))
    if cells and owner is None and isinstance(walk.base, ast.Attribute) and _is_unknown(run, walk.base.value, envs):
        base = replace(base, guessed=loop.code(walk.base.value))
    if cells and unknown is not None:
        base = replace(base, hidden=unknown.why, unlike=f"some of the lists are not shown: {unknown.why}")
    if cells and handed.by_callers:
        base = replace(base, given=f"the field `{attribute}`, which the callers of the class hand in")
    if not cells:
        return _said(run, loop, base, unclear(run, loop, base, unknown, envs)) if unknown is not None else None
    if any(cell.given for cell in cells) and owner is not None and not _keeps_modules(run, owner):
        return None
    base, cells = shown_of(run, base, cells)
    full = [cell for cell in cells if groups_of(cell) or cell.given or not cell.whole]
    built = [_of_cell(run, loop, base, cell) for cell in full or cells]
    lacks = any(isinstance(cell, ListCell) and cell.may_lack and not cell.least() for cell in full)
    if (len(full) < len(cells) and full) or lacks:
        built = [
            replace(each, unlike=each.unlike or "the list may be built empty") for each in built if each is not None
        ]
    if not built or any(each is None for each in built):
        return None
    known = [each if not base.hidden else replace(each, few=None) for each in built if each is not None]
    found = together(known, replace(base, cells=known[0].cells if len(known) == 1 else tuple(cells)))
    return found if found.known or owner is None or _keeps_modules(run, owner) else None


def _keeps_modules(run: Interpreter, owner: Definition) -> bool:
    """Whether a field of a class holds what it is declared to hold: not in a module of another framework."""
    return run.classes.is_module(owner) or run.classes.known_bases(owner)


def _holds_modules(run: Interpreter, cell: ListCell | DictCell, depth: int = 0) -> bool:
    """Whether a list is shown to hold a module, be it in a tuple."""
    elements = [option for group in groups_of(cell) for option in options(group.element)]
    inner = [option.cell for option in elements if isinstance(option, Listed | Mapped)]
    if any(is_layer(run, option) for option in elements):
        return True
    return depth < _DEEPEST and any(_holds_modules(run, each, depth + 1) for each in inner)


def _is_part(cell: ListCell | DictCell, walk: Walk) -> bool:
    """Whether a local list is made of the elements of another one, which are stacked there if anywhere."""
    return isinstance(walk.base, ast.Name) and isinstance(cell, ListCell) and cell.copied is not None


def _unknown_choices(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> Iterator[Unknown]:
    """What a local name may stand for beside lists that are shown: `layers = self.layers if own else given`."""
    for env in envs if isinstance(walk.base, ast.Name) else ():
        with run.question(), run.recording():
            value = again(run, env, walk.base)
        if isinstance(value, OneOf):
            yield from (option for option in options(value) if isinstance(option, Unknown))


def _takes_values(source: ast.expr) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "values" for each in nodes_in(source))


def _viewed(values: Sequence[Value]) -> bool:
    """Whether it is walked through a view of a dict: `for layer in values` where `values = self.blocks.values()`."""
    return any(isinstance(value, Walked) and value.kind == "values" for value in values)


def _has_name(base: ast.expr) -> bool:
    """Whether what is walked is a name, an attribute, or an element of one: no display that is written in the loop."""
    while isinstance(base, ast.Attribute | ast.Subscript):
        base = base.value
    return isinstance(base, ast.Name)


def _cells(run: Interpreter, values: Sequence[Value]) -> Iterator[ListCell | DictCell]:
    seen: set[int] = set()
    for value in values:
        if isinstance(value, Walked) and value.parts:
            yield from _cells(run, [option for part in value.parts[:1] for option in options(part)])
        elif isinstance(value, Listed | Mapped) and id(value.cell) not in seen:
            seen.add(id(value.cell))
            yield value.cell
        elif isinstance(value, Instance) and _is_sequential(value):
            inner = value.fields.get("layers")
            if isinstance(inner, Listed):
                yield inner.cell


def _is_sequential(value: Value) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, Library) and value.name.endswith("Sequential")


def _holder(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> tuple[Definition | None, str | None]:
    """The class and the attribute that hold the list."""
    if not isinstance(walk.base, ast.Attribute):
        return None, None
    with run.question(), run.recording():
        for env in envs:
            for option in options(again(run, env, walk.base.value)):
                if isinstance(option, Instance) and isinstance(option.cls, Definition):
                    return _at_least(run, option.cls, walk.base.value, env), walk.base.attr
    return None, walk.base.attr


def _at_least(run: Interpreter, cls: Definition, owner: ast.expr, env: Env) -> Definition:
    """The class of an object, for `self` at least that of the method: a caller may know its base alone."""
    if env.owner is None or not isinstance(owner, ast.Name) or owner.id != env.self_name:
        return cls
    bases = run.classes.lineage(env.owner)
    return env.owner if any(each.node is cls.node for each in bases) else cls


def _aliased(name: str, envs: Sequence[Env]) -> tuple[Definition | None, str | None]:
    """The class and the field whose list a local name stands for, be it backwards."""
    for env in envs:
        instance = env.lookup(env.self_name) if env.self_name is not None else None
        value = env.lookup(name)
        if not isinstance(instance, Instance) or not isinstance(instance.cls, Definition) or value is None:
            continue
        parts = [part for one in options(value) for part in (one.parts if isinstance(one, Walked) else (one,))]
        cells = {id(part.cell) for part in parts if isinstance(part, Listed)}
        for field, kept in instance.fields.items():
            if any(isinstance(one, Listed) and id(one.cell) in cells for one in options(kept)):
                return instance.cls, field
    return None, None


def _is_unknown(run: Interpreter, node: ast.expr, envs: Sequence[Env]) -> bool:
    """Whether nothing shows which object an expression is."""
    with run.question(), run.recording():
        values = [option for env in envs for option in options(again(run, env, node))]
    return all(isinstance(value, Unknown) for value in values)


# -- one list --------------------------------------------------------------------------------------------------------


def _of_cell(run: Interpreter, loop: Loop, base: Layers, cell: ListCell | DictCell) -> Layers | None:
    groups = _walked(base.walk, groups_of(cell))
    if not groups:
        return _said(run, loop, base, empty(run, loop, base, cell))
    groups, several = _members(groups)
    if not groups:
        return None  # tuples that hold nothing
    found: list[Instance] = []
    hidden, functions = base.hidden, False
    for group in groups:
        for option in options(group.element):
            if isinstance(option, Instance) and is_layer(run, option):
                found.append(option)
            elif isinstance(option, Unknown):
                hidden = hidden or option.why
            elif isinstance(option, Function | Partial | Library):
                functions = True
            elif isinstance(option, Const) and option.value is None:
                hidden = hidden or "an element may be None"
            elif isinstance(option, Number | Const | Text | Key | Array | Listed | Mapped) and not several:
                return None
            elif isinstance(option, Instance) and (modules := modules_among(run, option)):
                found += modules
            elif isinstance(option, Instance) and says_no_class(run, option):
                hidden = hidden or f"`{option.name}` says what an element can do, and not what it is"
            elif isinstance(option, Instance) and not several:
                return None if not found else replace(base, refusal=mixed(run, groups))
    if not found:
        hidden = hidden or (FUNCTIONS if functions else "")
        return _said(run, loop, base, nothing_shown(run, loop, base, cell, groups, hidden))
    layers = replace(
        base,
        classes=tuple(distinct(found)),
        several=several,
        hidden=hidden,
        given=cell.given or base.given,
        functions=functions,
    )
    if cell.given and base.owner is not None:
        layers = composed(run, layers, cell)
    elif cell.given and all(each.given for each in base.cells):
        layers = of_any_class(run, layers, cell)
    return layers if layers.refusal is not None else judged(run, loop, layers, cell, groups)


def _said(run: Interpreter, loop: Loop, base: Layers, said: Layers | ListCell | DictCell | None) -> Layers | None:
    """The layers of a list that only an annotation speaks of."""
    if not isinstance(said, ListCell | DictCell):
        return said
    layers = _of_cell(run, loop, replace(base, cells=(said,)), said)
    refused = layers is not None and layers.refusal is not None
    return replace(layers, cells=base.cells) if layers is not None and refused else layers


def _walked(walk: Walk, groups: list[Group]) -> list[Group]:
    """The groups of a list that a walk goes over: `layers[1:-1]` leaves out a first and a last one of their own."""
    parts = [each for each in nodes_in(walk.source) if isinstance(each, ast.Subscript) and each.value is walk.base]
    part = parts[0].slice if parts else None
    return cut(groups, part) if isinstance(part, ast.Slice) else groups


def _members(groups: list[Group]) -> tuple[list[Group], bool]:
    """Of elements that are tuples or lists of layers the parts, and whether they are such."""
    tuples = [option for group in groups for option in options(group.element) if isinstance(option, Listed)]
    if not tuples or len(tuples) < sum(1 for group in groups for _ in options(group.element)):
        return groups, False
    found = [
        replace(inner, loops=(*group.loops, *inner.loops), count=None, own=group.own and inner.own)
        for group in groups
        for option in options(group.element)
        if isinstance(option, Listed)
        for inner in option.cell.made
    ]
    return found, True
