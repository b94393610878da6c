"""Whether a walk goes over modules, and what the source shows of the list."""

import ast
from dataclasses import replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.applied import applies, calls_element
from scanify.analysis.lists.contents import Contents, ContentsReader
from scanify.analysis.lists.declared import Declared, declared
from scanify.analysis.lists.fields import FieldFacts, field_facts
from scanify.analysis.lists.layer_list import LayerList, not_shown
from scanify.analysis.lists.objects import class_of, home_of, walked_by
from scanify.analysis.lower.loop import Form, Loop, Order, Walk
from scanify.analysis.lower.scope import parameters
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_FRAMEWORKS = ("equinox", "flax")


def layers_of(project: ProjectFacts, loop: Loop) -> LayerList | None:
    """Return the list of the walk of a loop that goes over modules, None if no walk does.

    Of several the first that is walked as a whole and shown, else the first that is shown, else the first.
    """
    found = [layers for walk in loop.walks if (layers := layer_list(project, loop, walk)) is not None]
    found = [layers for layers in found if applies(loop, layers.walk) or loop.form is Form.SEQUENTIAL]
    known = [layers for layers in found if layers.classes]
    whole = [layers for layers in known if layers.walk.order is Order.WHOLE]
    return next(iter((*whole, *known, *found)), None)


def layer_list(project: ProjectFacts, loop: Loop, walk: Walk) -> LayerList | None:
    """Return what is shown of the list that a walk goes over; None if its elements are no modules, or if nothing is
    shown and the loop does not call an element."""
    if walk.via in ("keys", "items") or (loop.form is not Form.SEQUENTIAL and not all(map(_has_name, walk.bases))):
        return None
    parts = [_of_base(project, loop, walk, base) for base in walk.bases]
    if any(each is None for each in parts):
        return None
    shown = [each for each in parts if each is not None]
    layers = shown[0] if len(shown) == 1 else _joined(loop, walk, shown)
    by_key = walk.order is Order.VALUES or walk.element is not None
    if layers.of_dict and not by_key:
        return None  # the names of a dict
    if not layers.classes and not _is_called(project, loop, walk, layers):
        return None
    return layers


def _is_called(project: ProjectFacts, loop: Loop, walk: Walk, layers: LayerList) -> bool:
    """True if the body calls an element of which nothing is shown, where it may well be a module."""
    if loop.form is Form.SEQUENTIAL:
        return True
    if not calls_element(loop, walk):
        return False
    if layers.owner is not None:
        return project.classes.is_module(layers.owner)
    return any(each.partition(".")[0] in _FRAMEWORKS for each in loop.module.imports.values())


def _has_name(base: ast.expr) -> bool:
    while isinstance(base, ast.Attribute | ast.Subscript):
        base = base.value
    return isinstance(base, ast.Name)


def _joined(loop: Loop, walk: Walk, parts: list[LayerList]) -> LayerList:
    """Several lists that are walked one after another."""
    return LayerList(
        walk=walk,
        name=loop.code(walk.base),
        made=tuple(made for each in parts for made in each.made),
        declared=parts[0].declared if len({id(each.declared) for each in parts}) == 1 else None,
        parameter=any(each.parameter for each in parts),
        optional=any(each.optional for each in parts),
        several=any(each.several for each in parts),
        functions=any(each.functions for each in parts),
        may_be_empty=all(each.may_be_empty for each in parts),
        open=tuple(each for part in parts for each in part.open),
    )


# -- one container -----------------------------------------------------------------------------------------------------


def _of_base(project: ProjectFacts, loop: Loop, walk: Walk, base: ast.expr) -> LayerList | None:
    nested = 0
    while isinstance(base, ast.Subscript) and not isinstance(base.slice, ast.Slice):
        base, nested = base.value, nested + 1  # `self.stages[i]`
    module = loop.module
    while isinstance(base, ast.Name) and (head := walked_by(module, base)) is not None:
        base, nested = head.iter, nested + 1  # `for blocks in self.stages`, with the loop in it
    if isinstance(base, ast.Attribute):
        return _of_field(project, loop, walk, base, nested)
    if isinstance(base, ast.Name) and (base.id == loop.scope.self_name or _is_module_name(project, loop, base)):
        return None
    return _of_local(project, loop, walk, base, nested)


def _is_module_name(project: ProjectFacts, loop: Loop, base: ast.Name) -> bool:
    """True if a name stands for something imported, or a class."""
    meaning = home_of(project, loop.module, base).meaning(base)
    return isinstance(meaning, External) or isinstance(getattr(meaning, "node", None), ast.ClassDef | ast.FunctionDef)


def _of_field(project: ProjectFacts, loop: Loop, walk: Walk, base: ast.Attribute, nested: int) -> LayerList | None:
    owner = class_of(project, loop.module, base.value)
    if base.attr == "layers" and not isinstance(owner, Definition) and isinstance(base.value, ast.Attribute):
        holder = class_of(project, loop.module, base.value.value)
        if isinstance(holder, Definition):  # `self.net.layers`, of a `Sequential`
            facts = field_facts(project, holder, base.value.attr)
            if facts.contents.sequential:
                return _of_facts(loop, walk, base.value, facts)
    if not isinstance(owner, Definition):
        if owner is not None:
            return None  # what a module of a library holds is not looked at
        text = f"which class `{loop.code(base.value)}` is of is not shown"
        return LayerList(walk, loop.code(base), attribute=base.attr, open=(_open(loop, base, text),))
    return _of_facts(loop, walk, base, field_facts(project, owner, base.attr, nested))


def _open(loop: Loop, base: ast.expr, text: str) -> Obligation:
    return not_shown(text, loop.module.place(base) if hasattr(base, "lineno") else loop.place)


def _of_facts(loop: Loop, walk: Walk, base: ast.expr, facts: FieldFacts) -> LayerList | None:
    layers = _of_contents(loop, walk, base, facts.contents, facts.declared)
    if layers is None:
        return None
    return replace(layers, owner=facts.owner, attribute=facts.attribute, parameter=facts.parameter)


def _of_contents(loop: Loop, walk: Walk, base: ast.expr, contents: Contents, said: Declared) -> LayerList | None:
    """The list, unless its elements are shown to be no modules."""
    known = [each for each in contents.made if each.cls is not None]
    if contents.data and not known:
        return None
    if contents.functions and not known and all(each.cls is None for each in contents.made) and not contents.open:
        return None
    if said.data and not known:
        return None
    open_ = list(contents.open)
    if contents.data:
        open_.append(_open(loop, base, f"an element may be {contents.data}, which is no module"))
    if contents.functions:
        open_.append(_open(loop, base, "some elements of the list are functions"))
    return LayerList(
        walk=walk,
        name=loop.code(base),
        made=tuple(contents.made),
        declared=said.cls if said.listed or not contents.made else None,
        optional=contents.optional or said.optional,
        of_dict=contents.of_dict or (said.of_dict and not contents.made),
        several=contents.several or (said.several and not contents.made),
        functions=contents.functions,
        sequential=contents.sequential,
        may_be_empty=contents.may_be_empty,
        open=tuple(dict.fromkeys(open_)),
    )


def _of_local(project: ProjectFacts, loop: Loop, walk: Walk, base: ast.expr, nested: int) -> LayerList | None:
    """A local name, a parameter, or the argument of a `Sequential`."""
    home = home_of(project, loop.module, base)
    alias = _alias(home.values_of(base.id)) if isinstance(base, ast.Name) and home.is_local(base) else None
    if alias is not None:
        layers = _of_base(project, loop, walk, alias)
        return replace(layers, name=loop.code(base)) if layers is not None else None
    reader = ContentsReader(project, nested)
    reader.value(home, base)
    contents, said, parameter = reader.contents, Declared(), False
    for where, name in contents.parameters:
        annotations = (
            [each.annotation for each in parameters(where.function) if each.arg == name] if where.function else []
        )
        found = declared(project, where.module, annotations[0]) if annotations else Declared()
        said = said if said.cls is not None else found
        parameter = True
        contents.open.append(_open(loop, base, f"the caller gives `{name}`"))
    layers = _of_contents(loop, walk, base, contents, said)
    return replace(layers, parameter=parameter) if layers is not None else None


def _alias(values: list[tuple[ast.AST, ast.expr | None]]) -> ast.Attribute | None:
    """`layers = self.layers`, the only assignment to a local name."""
    value = values[0][1] if len(values) == 1 else None
    return value if isinstance(value, ast.Attribute) else None
