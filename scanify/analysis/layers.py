"""From the expression a loop walks to the list of layers: where it is built, of what, and whether all are alike."""

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from scanify.analysis.answers import Answer, Built, DictOf, Elsewhere, NotLayers, Unclear, one_of
from scanify.analysis.blocks import blocks
from scanify.analysis.classes import method
from scanify.analysis.elements import Element, element_class, list_walked, made_by
from scanify.analysis.facts import Place
from scanify.analysis.fill import (
    Growth,
    added_element,
    after,
    changed_later,
    entries,
    growths,
    in_turns,
    of_nothing,
    placed,
    statement_beside,
)
from scanify.analysis.keys import Variety, bind_iteration
from scanify.analysis.plan import Wrap
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.where import Where, assignments, builtin_called, method_where, value_given

_MAX_DEPTH = 8


def list_value(project: Project, at: Where, value: cst.CSTNode, depth: int = 0) -> Answer:
    """What a list-valued expression holds; the site is for the caller, who knows what is assigned."""
    if depth > _MAX_DEPTH:
        return Unclear("the list goes through too many names to be followed")
    match value:
        case cst.ListComp() | cst.GeneratorExp() if (remade := _remade(project, at, value, depth)) is not None:
            return remade
        case cst.ListComp() | cst.GeneratorExp():
            return Built((_turned(project, at, value, made_by(value)),))
        case cst.DictComp():
            return DictOf(Built((_turned(project, at, value, value.value),)))
        case cst.Dict():
            return _joined([_entry(project, at, one, depth) for one in value.elements], at, value)
        case cst.List() | cst.Tuple():
            return _display(project, at, value, depth)
        case cst.Call():
            return _call(project, at, value, depth)
        case cst.Name():
            return local_list(project, at, value.value, depth + 1, value)
        case cst.BinaryOperation():
            return _operation(project, at, value, depth)
        case cst.BaseNumber() | cst.BaseString() | cst.Lambda():
            return NotLayers()
        case _:
            return Unclear("the list is the value of an expression that cannot be followed", at=_place(at, value))


def _turned(project: Project, at: Where, value: cst.BaseComp, made: cst.BaseExpression) -> Element:
    """What a comprehension makes in each of its turns."""
    environment: dict[str, Variety] = {}
    level: cst.CompFor | None = value.for_in
    while level is not None:
        bind_iteration(project, at, level.target, level.iter, environment)
        level = level.inner_for_in
    return Element(made, at, environment, repeated=True)


def _remade(project: Project, at: Where, value: cst.ListComp | cst.GeneratorExp, depth: int) -> Built | None:
    """`[scaled(layer, k) for layer, k in zip(layers, keys)]`: other layers made of those of a list, one of each."""
    match value.elt:
        case cst.Call(func=func, args=[cst.Arg(star="", keyword=None, value=cst.Name(value=given)), *_]) if (
            dotted(func) is not None and value.for_in.inner_for_in is None
        ):
            source = list_walked(value.for_in.target, value.for_in.iter, given)
            inner = local_list(project, at, source, depth + 1, value) if source is not None else None
        case _:
            return None
    if not isinstance(inner, Built) or inner.others:
        return None
    if element_class(project, Element(value.elt, at, {given: Variety.VALUE}, repeated=True)) is not None:
        return None  # of a class of their own, `[Residual(layer) for layer in layers]`
    return Built(tuple(replace(one, through=dotted(func)) for one in inner.elements))


def _place(at: Where, node: cst.CSTNode) -> Place:
    return at.module.parsed.place(node)


def _display(project: Project, at: Where, value: cst.List | cst.Tuple, depth: int) -> Answer:
    elements: list[Element] = []
    for one in value.elements:
        if not isinstance(one, cst.StarredElement):
            elements.append(Element(one.value, at))
            continue
        inner = list_value(project, at, one.value, depth + 1)
        if not isinstance(inner, Built):
            return inner
        if inner.others:
            return Unclear("a part of the list is built in several places", at=_place(at, one.value))
        elements.extend(inner.elements)
    return _each_once(elements, at, value)


def _each_once(elements: Sequence[Element], at: Where, value: cst.CSTNode) -> Built | Unclear:
    names = [dotted(one.node) for one in elements if dotted(one.node) is not None]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        return Unclear(f"`{repeated}` stands in the list more than once", "SCN204", _place(at, value))
    return Built(tuple(elements))


def _entry(project: Project, at: Where, one: cst.BaseDictElement, depth: int) -> Answer:
    if isinstance(one, cst.DictElement):
        return DictOf(Built((Element(one.value, at),)))
    return list_value(project, at, one.value, depth + 1)


def _joined(parts: Sequence[Answer], at: Where, value: cst.CSTNode) -> DictOf:
    """One dict of several."""
    if len(parts) == 1 and isinstance(parts[0], DictOf):
        return parts[0]
    elements: list[Element] = []
    for one in parts:
        values = one.values if isinstance(one, DictOf) else one
        if not isinstance(one, DictOf) or not isinstance(values, Built) or values.others:
            return DictOf(Unclear("the source does not show all of the dict", at=_place(at, value)))
        elements += values.elements
    return DictOf(_each_once(elements, at, value))


def _dict_call(project: Project, at: Where, value: cst.Call, depth: int) -> DictOf:
    """`dict(a=Block(), b=Block())`, `dict(zip(names, layers))`, `OrderedDict([("a", Block())])`, `dict(other)`."""
    parts: list[Answer] = []
    for arg in value.args:
        given = arg.value
        if arg.keyword is not None:
            parts.append(DictOf(Built((Element(given, at),))))
        elif isinstance(given, cst.Call) and builtin_called(project, at, given) == "zip" and len(given.args) > 1:
            walked = list_value(project, at, given.args[1].value, depth + 1)
            parts.append(DictOf(walked) if isinstance(walked, Built | Elsewhere) else walked)
        elif isinstance(given, cst.ListComp | cst.GeneratorExp) and isinstance(given.elt, cst.Tuple):
            parts.append(DictOf(Built((_turned(project, at, given, given.elt.elements[-1].value),))))
        elif isinstance(given, cst.List | cst.Tuple):
            pairs = [one.value for one in given.elements]
            shown = [one.elements[-1].value for one in pairs if isinstance(one, cst.Tuple) and len(one.elements) > 1]
            parts += [DictOf(Built((Element(one, at),))) for one in shown] or [NotLayers()]
        else:
            parts.append(list_value(project, at, given, depth + 1))
    return _joined(parts, at, value)


def _call(project: Project, at: Where, value: cst.Call, depth: int) -> Answer:
    name = dotted(value.func)
    builtin = builtin_called(project, at, value)
    if builtin in ("list", "tuple"):
        if not value.args:
            return Built(())
        if value.args[0].star:
            return _unknown(at, value)
        return list_value(project, at, value.args[0].value, depth + 1)
    if builtin == "dict" or _is_ordered_dict(project, at, name):
        return _dict_call(project, at, value, depth)
    if name is None or name.partition(".")[0] in at.locals - {at.self_name}:
        return _foreign_call(project, at, value)
    head, _, last = name.rpartition(".")
    if at.owner is not None and head and head == at.self_name:
        found = method(project, at.owner, last)
        return _factory(project, method_where(*found), depth) if found else _unknown(at, value)
    meaning = project.resolve(at.module, name)
    if isinstance(meaning, Definition) and isinstance(meaning.node, cst.FunctionDef):
        return _factory(project, method_where(meaning, meaning.node), depth)
    if isinstance(meaning, External) and meaning.qualname.split(".")[0] in ("jax", "numpy", "math"):
        return NotLayers()
    if builtin in ("range", "zip", "enumerate", "map", "set", "sorted", "str", "int", "open", "vars", "dir"):
        return NotLayers()
    return _unknown(at, value)


def _is_ordered_dict(project: Project, at: Where, name: str | None) -> bool:
    meaning = project.resolve(at.module, name) if name is not None and name.partition(".")[0] not in at.locals else None
    return isinstance(meaning, External) and meaning.qualname == "collections.OrderedDict"


def _foreign_call(project: Project, at: Where, value: cst.Call) -> Answer:
    """`eqx.filter_vmap(make)(keys)` gives layers that are stacked already."""
    if isinstance(value.func, cst.Call):
        inner = project.resolve(at.module, dotted(value.func.func) or "")
        if isinstance(inner, External) and inner.qualname.rpartition(".")[2] in ("filter_vmap", "vmap", "init"):
            return NotLayers()
    return _unknown(at, value)


def _unknown(at: Where, value: cst.Call) -> Unclear:
    what = dotted(value.func)
    return Unclear(f"the list is what {f'`{what}(...)`' if what else 'a call'} returns", at=_place(at, value))


def _factory(project: Project, inside: Where, depth: int) -> Answer:
    returns = [one for one in blocks(inside.body()) if isinstance(one, cst.Return) and one.value is not None]
    if len(returns) != 1 or returns[0].value is None:
        what = inside.function.name.value if inside.function is not None else "the factory"
        return Unclear(f"`{what}` returns its list in {len(returns)} places")
    return list_value(project, inside, returns[0].value, depth + 1)


def _operation(project: Project, at: Where, value: cst.BinaryOperation, depth: int) -> Answer:
    if isinstance(value.operator, cst.Multiply):
        for side in (value.left, value.right):
            inner = list_value(project, at, side, depth + 1) if isinstance(side, cst.List | cst.Tuple) else None
            if isinstance(inner, Built) and inner.elements:
                first = inner.elements[0].node
                if isinstance(first, cst.BaseNumber | cst.BaseString) or dotted(first) in ("None", "True", "False"):
                    return NotLayers()
                return Unclear("the list repeats one layer object with `*`", "SCN204", _place(at, value))
        return NotLayers()
    if isinstance(value.operator, cst.Add):
        sides = [list_value(project, at, side, depth + 1) for side in (value.left, value.right)]
        if all(isinstance(side, Built) and not side.others for side in sides):
            return Built(tuple(e for side in sides if isinstance(side, Built) for e in side.elements))
        several = Unclear("a part of the list is built in several places", at=_place(at, value))
        return next((side for side in sides if not isinstance(side, Built)), several)
    return NotLayers()


def local_list(project: Project, at: Where, name: str, depth: int = 0, use: cst.CSTNode | None = None) -> Answer:
    """The list that a local (or module-level) name holds; at `use`, where it is assigned one list after another."""
    bound = [one for one in assignments(at.body(), name) if not _converts(project, at, one, name)]
    param = at.parameter(name)
    if param is not None:
        if bound:
            return Unclear(f"`{name}` is a parameter that is assigned again")
        annotation = param.annotation.annotation if param.annotation is not None else None
        return Elsewhere(annotation, at, f"the parameter `{name}`", name)
    if not bound:
        given = at.function.params.star_arg if at.function is not None else None
        if isinstance(given, cst.Param) and given.name.value == name:
            return Elsewhere(None, at, f"the arguments `*{name}`")
        return Unclear(f"`{name}` is not assigned in this function")
    made = [one for one in bound if not isinstance(one, cst.AugAssign)]
    if not made or not all(isinstance(one, cst.Assign | cst.AnnAssign) for one in made):
        return Unclear(f"`{name}` is assigned in several places", at=_place(at, bound[-1]))
    for statement in made:
        if value_given(statement, name) is None:
            return Unclear(f"`{name}` is unpacked from another value", at=_place(at, statement))
    assigned = [one for one in made if isinstance(one, cst.Assign | cst.AnnAssign)]
    last = _last_before(at, name, assigned, use) if use is not None else None
    return in_branches(project, at, name, assigned if last is None else [last], depth)


def _last_before(
    at: Where, name: str, made: Sequence[cst.Assign | cst.AnnAssign], use: cst.CSTNode
) -> cst.Assign | cst.AnnAssign | None:
    """The last of several assignments in one block, where a name is read below it and nothing else adds to its lists:
    `layers = [Block() for ...]`, then `layers = [scaled(layer) for layer in layers]`."""
    parsed = at.module.parsed
    blocks_of = {_block(at, one) for one in made}
    if len(made) < 2 or len(blocks_of) > 1 or growths(at, name) or statement_beside(at, made[-1], use) is None:
        return None
    before = [one for one in made if parsed.span(one).end < parsed.span(use).start]
    return before[-1] if before else None


def _converts(project: Project, at: Where, statement: cst.CSTNode, name: str) -> bool:
    """`layers = tuple(layers)`: the same layers under the same name."""
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    value = statement.value
    plain = isinstance(value, cst.Call) and builtin_called(project, at, value) in ("list", "tuple")
    given = [dotted(arg.value) for arg in value.args] if plain and isinstance(value, cst.Call) else []
    return given == [name] and dotted(statement.targets[0].target) == name


def in_branches(
    project: Project, at: Where, target: str, made: Sequence[cst.Assign | cst.AnnAssign], depth: int = 0
) -> Answer:
    """The list that one statement assigns to `target`, or one of several statements, each in a branch of its own."""
    if len(made) == 1:
        return filled(project, at, made[0], target, _given(made[0], target), depth)
    several = Unclear(f"`{target}` is assigned in several places", at=_place(at, made[-1]))
    parsed = at.module.parsed
    blocks_of = [_block(at, one) for one in made]
    apart = all(isinstance(one, cst.IndentedBlock) for one in blocks_of) and len(set(map(id, blocks_of))) == len(made)
    grown = growths(at, target)
    nested = any(block in parsed.ancestors(one) for one in made for block in blocks_of if block is not _block(at, one))
    if not apart or (grown and nested) or sum(len(_own(at, grown, one)) for one in made) != len(grown):
        return several
    found = [filled(project, at, one, target, _given(one, target), depth, several=True) for one in made]
    return one_of(found, several)


def _given(statement: cst.Assign | cst.AnnAssign, target: str) -> cst.BaseExpression:
    value = value_given(statement, target)
    assert value is not None
    return value


def _block(at: Where, statement: cst.CSTNode) -> cst.CSTNode | None:
    """The block that a small statement stands in."""
    line = at.module.parsed.parent(statement)
    return at.module.parsed.parent(line) if line is not None else None


def _own(at: Where, grown: Sequence[Growth | cst.Call], statement: cst.CSTNode) -> list[Growth | cst.Call]:
    """What adds to a list in the block of the list's own statement."""
    nodes = [(one, one.node if isinstance(one, Growth) else one) for one in grown]
    return [one for one, node in nodes if statement_beside(at, statement, node) is not None]


def filled(
    project: Project,
    at: Where,
    statement: cst.CSTNode,
    target: str,
    value: cst.BaseExpression,
    depth: int = 0,
    several: bool = False,
) -> Answer:
    """The list a statement assigns to `target`, with what later statements add to it, and the site to stack it at.

    `several` says that other statements assign other lists to `target`, each in a block of its own.
    """
    if isinstance(value, cst.IfExp) and not growths(at, target):
        sides = [one for one in (value.body, value.orelse) if dotted(one) != "None"]  # then there are no layers
        found = [filled(project, at, statement, target, one, depth + 1, several=True) for one in sides]
        return one_of(found, Unclear(f"`{target}` is one of several dicts", at=_place(at, statement)))
    places = placed(at, target) if of_nothing(value) else []
    answer: Answer = Built(()) if places else list_value(project, at, value, depth)
    if isinstance(answer, DictOf):
        return _with_entries(project, at, target, statement, answer, depth)
    if not isinstance(answer, Built):
        return answer
    if isinstance(value, cst.Name) and (later := changed_later(at, statement, value.value)) is not None:
        return Unclear(f"`{value.value}` is still used as a list after it became the layers", at=_place(at, later))
    grown = growths(at, target)
    grown = [*places, *(_own(at, grown, statement) if several else grown)]
    if not grown:
        if not answer.elements and not several:
            return Unclear("the list is empty when it is built", at=_place(at, statement))
        site = Wrap(_place(at, value))
        return Built(answer.elements, site, tuple(replace(one, site=site) for one in answer.others))
    elements = list(answer.elements)
    for one in grown:
        if isinstance(one, cst.Call):
            return Unclear(f"the list is filled by `{dotted(one.func)}`", at=_place(at, one))
        added = _added(project, at, one, statement, depth)
        if not isinstance(added, list):
            return added
        elements = [*added, *elements] if one.front else [*elements, *added]
    last = grown[-1]
    beside = statement_beside(at, statement, last.node if isinstance(last, Growth) else last)
    if beside is None or answer.others:
        return Unclear("the list is filled in another block than the one that makes it", at=_place(at, statement))
    return Built(tuple(elements), after(at, beside, target), placed=bool(places))


def _with_entries(
    project: Project, at: Where, target: str, statement: cst.CSTNode, answer: DictOf, depth: int
) -> DictOf:
    """A dict with what later statements put into it, `self.blocks[f"block{i}"] = Block(...)`."""
    parts: list[Answer] = [answer]
    for one in entries(at, target):
        if isinstance(one, cst.Call):
            return DictOf(Unclear(f"the dict is changed by `{dotted(one.func)}`", at=_place(at, one)))
        if one.whole:
            more = list_value(project, at, one.value, depth + 1)
            made = more.values.elements if isinstance(more, DictOf) and isinstance(more.values, Built) else ()
            parts.append(
                more if not made else DictOf(Built(tuple(in_turns(project, at, m, one, statement) for m in made)))
            )
        else:
            parts.append(DictOf(Built((added_element(project, at, one, statement),))))
    filled_dict = _joined(parts, at, statement)
    values = filled_dict.values
    if not isinstance(values, Built):
        return filled_dict
    if not values.elements:
        return DictOf(Unclear("the dict is empty when it is built", at=_place(at, statement)))
    return DictOf(replace(values, site=None, placed=True))


def _added(project: Project, at: Where, growth: Growth, statement: cst.CSTNode, depth: int) -> list[Element] | Unclear:
    """The elements that one statement adds to a list."""
    if not growth.whole:
        return [added_element(project, at, growth, statement)]
    more = list_value(project, at, growth.value, depth + 1)
    if not isinstance(more, Built) or more.others:
        return Unclear("the list is filled with one that the source does not show", at=_place(at, growth.node))
    return [in_turns(project, at, one, growth, statement) for one in more.elements]
