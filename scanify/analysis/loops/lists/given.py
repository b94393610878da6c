"""Lists that a constructor is given: what the calls of the project hand in, where every one of them is seen."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.loops.lists.layer_list import FEW, Layers, Reason, groups_of
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parent_of
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import Const, Instance, Library, Listed, Mapped, Unknown, Value, join, options
from scanify.analysis.values.heap import DictCell, Group, ListCell, Use
from scanify.analysis.values.marks import Vary
from scanify.analysis.values.run.explore import model_list
from scanify.analysis.values.run.interpreter import Handed, Interpreter, Made, Stored

_MOST_CLASSES = 12  # classes whose constructors are followed for one list
_MOST_LISTS = 32  # that are kept apart in one field


def is_given(value: Value) -> bool:
    """Whether a value is what any caller of a constructor may give."""
    if isinstance(value, Listed):
        return bool(value.cell.given) or is_copy_of_given(value.cell)
    if isinstance(value, Mapped):
        return bool(value.cell.given)
    return isinstance(value, Unknown) and value.given


def is_copy_of_given(cell: ListCell | DictCell) -> bool:
    """Whether a list is a copy of what a caller gives and nothing is known of: `self.layers = tuple(layers)`."""
    groups = groups_of(cell)
    return bool(groups) and all(
        group.spread and isinstance(group.element, Unknown) and group.element.given for group in groups
    )


def held(run: Interpreter, owner: Definition, attribute: str, values: Sequence[Value]) -> Handed:
    """What a field of a class may hold, where the class itself shows `values` of it.

    What a caller may give stays unknown unless every call in the project is seen, and shows its list.
    """
    if (owner.node, attribute) in run.handed:
        return run.handed[owner.node, attribute]
    heirs = [heir for heir in run.classes.heirs(owner) if _differs(run, owner, heir, attribute)]
    of_heirs = [(heir, option) for heir in heirs for option in options(model_list(run, heir, attribute))]
    uncalled = any(is_given(option) and heir.node not in run.constructed for heir, option in of_heirs)
    every = _distinct([*values, *(option for _, option in of_heirs)])
    shown = [value for value in every if not is_given(value)]
    if len(shown) == len(every):
        return Handed(tuple(shown))
    classes = [owner, *run.classes.heirs(owner)]
    calls = [made for cls in classes for made in run.constructed.get(cls.node, ())]
    passed = [option for made in calls for option in options(made.instance.fields.get(attribute, _NOTHING))]
    passed = [value for value in passed if not (isinstance(value, Const) and value.value is None)]
    passed = [value for value in passed if not _is_part_of(value, values)]
    known = [value for value in passed if isinstance(value, Listed | Mapped) and not is_given(value)]
    closed = (
        len(known) == len(passed)
        and bool(_lists([*shown, *known]))
        and not uncalled
        and not _escapes(run, classes, calls)
    )
    outside = any(not _makes_itself(made, owner) for made in calls) or not run.classes.known_bases(owner)
    handed = Handed(tuple(_distinct([*shown, *known])), by_callers=outside and bool(passed))
    return handed if closed else replace(handed, values=tuple(_distinct([*every, *known])), by_callers=True)


def _lists(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if isinstance(value, Listed | Mapped)]


_NOTHING = Unknown("the field is not shown")


def _is_part_of(value: Value, values: Sequence[Value]) -> bool:
    """Whether a list is a part of what the field holds already: `Model(self.layers[1:])`."""
    nodes = {each.cell.node for each in values if isinstance(each, Listed)}
    cell: ListCell | DictCell | None = value.cell if isinstance(value, Listed) else None
    while isinstance(cell, ListCell) and cell.copied is not None:
        cell = cell.copied
        if cell.node in nodes:
            return True
    return False


def hand_in(run: Interpreter, owner: Definition, attribute: str, values: Sequence[Value]) -> bool:
    """Let a field that callers give hold what they are seen to give; whether that is all that it may hold.

    From then on uses of the field are uses of those lists, for all code that is run again.
    """
    if (owner.node, attribute) in run.handed or not any(is_given(value) for value in values):
        return False
    handed = held(run, owner, attribute, values)
    if any(isinstance(value, Unknown) or is_given(value) for value in handed.values):
        return False
    run.handed[owner.node, attribute] = handed
    for cls in (owner, *run.classes.heirs(owner)):
        model = run.models.get(cls.node)
        fields = model.fields if isinstance(model, Instance) else {}
        if attribute in fields and any(is_given(option) for option in options(fields[attribute])):
            fields[attribute] = join(handed.values, _MOST_LISTS)
    return True


def settle(run: Interpreter) -> None:
    """What a function does with a list that it makes, before it hands it to a constructor, is how the list is built."""
    cells = [value.cell for handed in run.handed.values() for value in handed.values if isinstance(value, Listed)]
    for cell in cells:
        handing = [each for each in run.stores.get(cell.node, {}).values() if each.target is each.value]
        for key, use in list(cell.site.uses.items()):
            if handing and use.function is cell.function and all(_precedes(use, each, cell) for each in handing):
                cell.site.uses[key] = replace(use, building=True)


def _precedes(use: Use, handing: Stored, cell: ListCell) -> bool:
    """Whether a use runs before a list is handed on, and never after: no loop comes back to it with the same list."""
    loops = (ast.For, ast.AsyncFor, ast.While)
    around = {each for each in ancestors(handing.module, handing.value) if isinstance(each, loops)}
    return use.clock < handing.clock and around <= set(ancestors(cell.module, cell.node))


def _differs(run: Interpreter, owner: Definition, heir: Definition, attribute: str) -> bool:
    """Whether a class that inherits from another may put something else into a field."""
    mine, theirs = run.classes.method(owner, "__init__"), run.classes.method(heir, "__init__")
    if (mine and mine[1]) is not (theirs and theirs[1]) or not run.classes.known_bases(heir):
        return True
    above = {each.node for each in run.classes.lineage(owner)}
    between = [each for each in run.classes.lineage(heir) if each.node not in above]
    used = run.classes.used_by_constructor(owner)
    if any(name in used for cls in between for name in run.classes.own_names(cls)):
        return True  # it builds what the constructor puts there
    return any(
        isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Store)
        for cls in between
        for node in (nodes_in(cls.node) if attribute in run.index.words(cls.module.path) else ())
    )


def _distinct(values: Sequence[Value]) -> list[Value]:
    found: dict[object, Value] = {}
    for value in values:
        found.setdefault(id(value.cell) if isinstance(value, Listed | Mapped) else id(value), value)
    return list(found.values())


def _makes_itself(made: Made, owner: Definition) -> bool:
    """Whether a static or class method of the very class makes the object, or a class that inherits from it."""
    if isinstance(made.instance.cls, Definition) and made.instance.cls.node is not owner.node:
        return True
    if made.owner is None or made.owner.node is not owner.node:
        return False
    names = {dotted(each) for each in getattr(made.function, "decorator_list", ())}
    return bool(names & {"staticmethod", "classmethod"})


# -- whether every call is seen --------------------------------------------------------------------------------------


def may_be_called_elsewhere(run: Interpreter, module: Module, function: ast.AST) -> bool:
    """Whether a function of a file may be called by code that the project does not show: it is handed to something."""
    name = getattr(function, "name", None)
    definition = Definition(module, name, function) if name is not None and isinstance(function, ast.stmt) else None
    if definition is None or len(module.definitions.get(definition.name, ())) != 1:
        return True  # a method, which is found through objects of any kind, or a function inside of another one
    if getattr(function, "decorator_list", ()):
        return True
    return _is_handed_on(run, definition, None)


def _escapes(run: Interpreter, classes: Sequence[Definition], calls: Sequence[Made]) -> bool:
    """Whether code may make an object of one of some classes by a call that was not seen."""
    seen = {made.instance.node for made in calls}
    odd = any(cls.node in run.typed or run.classes.oddity(cls) is not None for cls in classes)
    return odd or len(classes) > _MOST_CLASSES or any(_is_handed_on(run, cls, seen) for cls in classes)


def _is_handed_on(run: Interpreter, definition: Definition, seen: set[ast.AST | None] | None) -> bool:
    """Whether something is named anywhere but where it is called (by a call that was seen) or only spoken of."""
    name = definition.name
    for module in run.index.modules_with(name):
        if any(target.rpartition(".")[2] == name and local != name for local, target in module.imports.items()):
            return True
        for node in _named(module).get(name, ()):
            if _means(run, module, node, definition) and not _only_mentioned(module, node, seen):
                return True
    return False


def _named(module: Module) -> Mapping[str, Sequence[ast.expr]]:
    """The places of a file that read a name, or an attribute of that name. Found once for each file."""
    known: dict[str, list[ast.expr]] | None = getattr(module.tree, "_named", None)
    if known is None:
        known = {}
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                known.setdefault(node.id if isinstance(node, ast.Name) else node.attr, []).append(node)
        module.tree._named = known  # type: ignore[attr-defined]
    return known


def _means(run: Interpreter, module: Module, node: ast.expr, definition: Definition) -> bool:
    """Whether a name may stand for a definition: one that stands for something else does not."""
    name = dotted(node)
    meaning = run.index.resolve(module, name) if name is not None else None
    return meaning is None or (isinstance(meaning, Definition) and meaning.node is definition.node)


def _only_mentioned(module: Module, node: ast.expr, seen: set[ast.AST | None] | None) -> bool:
    """Whether a class is named where nobody can call it but by a call that was seen; None where all calls are."""
    above = parent_of(module, node)
    if isinstance(above, ast.Call) and above.func is node:
        return seen is None or above in seen
    if isinstance(above, ast.Attribute | ast.Compare | ast.MatchClass):
        return True
    for below, around in _upwards(module, node):
        if isinstance(around, ast.ClassDef):
            return below in around.bases
        if isinstance(around, ast.arg) or (isinstance(around, ast.AnnAssign) and below is around.annotation):
            return True
        if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
            return below is around.returns
        if isinstance(around, ast.Call):
            return dotted(around.func) in ("isinstance", "issubclass") and below is not around.func
        if isinstance(around, ast.stmt):
            return False
    return False


def _upwards(module: Module, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    below = node
    for around in ancestors(module, node):
        yield below, around
        below = around


# -- what shows a gain -----------------------------------------------------------------------------------------------


def composed(run: Interpreter, layers: Layers, cell: ListCell | DictCell) -> Layers:
    """Layers that the caller of a constructor gives: what is known of them by those who call it in the project.

    Where the class may be any of several and nobody builds a list of three that are alike, nothing shows a gain.
    """
    assert layers.owner is not None and layers.attribute is not None
    open_to_all = layers.known and _may_mix(run, layers)
    if callers_show(run, layers, open_to_all) or (layers.known and not open_to_all):
        return layers
    what = f"`{layers.owner.name}` gets its layers from its caller, who may mix classes"
    text = f"{what}: nothing shows that three of them share a body"
    return replace(layers, refusal=("SCN215", text, cell.why_at))


def callers_show(run: Interpreter, layers: Layers, open_to_all: bool) -> bool:
    """Whether somebody in the project builds an object of the class with a list of three that may be alike."""
    if layers.owner is None or layers.attribute is None:
        return False
    classes = (layers.owner, *run.classes.heirs(layers.owner))
    calls = (made for cls in classes for made in run.constructed.get(cls.node, ()))
    built = [made.instance.fields.get(layers.attribute) for made in calls]
    lists = [
        option.cell for value in built if value is not None for option in options(value) if isinstance(option, Listed)
    ]
    shown = [each for each in lists if not each.given and not is_copy_of_given(each)]
    return any(some_alike(run, each.made, open_to_all) for each in shown)


def some_alike(run: Interpreter, groups: Sequence[Group], open_to_all: bool) -> bool:
    """Whether a list that is written out or made in a loop shows layers of which three may be alike.

    Where any of several classes may be given, what an unknown call makes may be of another class each time.
    """
    for group in groups:
        unknown = all(isinstance(option, Unknown) for option in options(group.element))
        if group.repeated and not (unknown and (group.spread or open_to_all)) and not _is_mixed(run, group):
            return True
    names = [option.name for group in groups for option in options(group.element) if isinstance(option, Instance)]
    return len(groups) >= FEW and len(set(names)) < len(names)


def _is_mixed(run: Interpreter, group: Group) -> bool:
    """Whether one expression may give elements of several classes: those of a declared base, or one picked for each."""
    found = [option for option in options(group.element) if isinstance(option, Instance)]
    picked = len({each.name for each in found}) > 1 and any(mark.loop in group.loops for mark in group.element.marks)
    return picked or of_any_heir(run, group)


def of_any_heir(run: Interpreter, group: Group) -> bool:
    """Whether a group is what a caller gives, as it is or one by one, declared as a class that several others inherit
    from."""
    found = [option for option in options(group.element) if isinstance(option, Instance)]
    marks = (mark for each in (group.element, *found) for mark in each.marks)
    picked = any(mark.loop in group.loops and mark.how is Vary.CHOICE for mark in marks)
    return (picked or not group.loops) and any(not each.exact and _is_open(run, each.cls) for each in found)


def holds_any_heir(run: Interpreter, value: Value) -> bool:
    """Whether a value is a list that holds such a group."""
    return isinstance(value, Listed) and any(of_any_heir(run, group) for group in groups_of(value.cell))


def of_any_part(run: Interpreter, loop: Loop, walk: Walk, groups: Sequence[Group]) -> Reason | None:
    """Why elements of one class may still be of several: the loop applies a part of each, declared as a base class.

    `for reaction in self.reactions: x = x + reaction.kinetics.rate(x)`
    """
    names = set(target_names(walk.target))
    calls = [each.func for part in loop.body for each in nodes_in(part) if isinstance(each, ast.Call)]
    for func in calls:
        parts = (dotted(func) or "").split(".")
        if len(parts) < 3 or parts[0] not in names:
            continue
        for group in groups:
            held = (each.fields.get(parts[1]) for each in options(group.element) if isinstance(each, Instance))
            for part in (option for value in held if value is not None for option in options(value)):
                if isinstance(part, Instance) and not part.exact and _is_open(run, part.cls):
                    text = f"each element holds in `{parts[1]}` an object of any class that inherits from `{part.name}`"
                    place = group.module.place(group.node)
                    return "SCN215", f"{text}: nothing shows that three share a body", place
    return None


def _may_mix(run: Interpreter, layers: Layers) -> bool:
    """Whether what is declared as one class may be any of several."""
    declared = [each.cls for each in layers.classes]
    heirs = [heir for each in declared if isinstance(each, Definition) for heir in run.classes.heirs(each)]
    return len(heirs) > 1 or any(_is_open(run, each) for each in declared)


def _is_open(run: Interpreter, declared: Definition | Library) -> bool:
    """Whether what is declared as a class may be of any of several."""
    if isinstance(declared, Library):
        return declared.qualname == "equinox.Module"
    return len(run.classes.heirs(declared)) > 1


def of_any_class(run: Interpreter, layers: Layers, cell: ListCell | DictCell) -> Layers:
    """Layers of a list of which an annotation alone says something: whether they may be of several classes."""
    if not _may_mix(run, layers):
        return layers
    text = f"{cell.given} comes from the caller, who may mix classes: nothing shows that three layers share a body"
    return replace(layers, refusal=("SCN215", text, cell.why_at))
