"""From the expression a loop walks to the list of layers: where it is built, of what, and whether all are alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.classes import method
from scanify.analysis.elements import Element, appended
from scanify.analysis.facts import Place
from scanify.analysis.keys import Variety, bind_iteration, culprit, is_keys
from scanify.analysis.names import flow, target_names
from scanify.analysis.plan import After, Wrap
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.where import Where, assignments, blocks, builtin_called, method_where

_MAX_DEPTH = 8


@dataclass(frozen=True, eq=False)
class Built:
    """A list that the source shows being built: its elements and the place where it can be built stacked."""

    elements: tuple[Element, ...]
    site: Wrap | After | None = None


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """A list that is handed in: a parameter or a field of a dataclass-like module, with the annotation it carries."""

    annotation: cst.BaseExpression | None
    at: Where
    what: str


@dataclass(frozen=True)
class Unclear:
    """A list whose building the source does not show, and why."""

    reason: str
    rule: str = "SCN201"
    at: Place | None = None


@dataclass(frozen=True)
class NotLayers:
    """Something that is surely no list of modules."""


Answer = Built | Elsewhere | Unclear | NotLayers


def list_value(project: Project, at: Where, value: cst.CSTNode, depth: int = 0) -> Answer:
    """What a list-valued expression holds; the site is for the caller, who knows what is assigned."""
    if depth > _MAX_DEPTH:
        return Unclear("the list goes through too many names to be followed")
    match value:
        case cst.ListComp() | cst.GeneratorExp():
            environment: dict[str, Variety] = {}
            level: cst.CompFor | None = value.for_in
            while level is not None:
                bind_iteration(project, at, level.target, level.iter, environment)
                level = level.inner_for_in
            return Built((Element(value.elt, at, environment, repeated=True),))
        case cst.List() | cst.Tuple():
            return _display(project, at, value, depth)
        case cst.Call():
            return _call(project, at, value, depth)
        case cst.Name():
            return local_list(project, at, value.value, depth + 1)
        case cst.BinaryOperation():
            return _operation(project, at, value, depth)
        case cst.DictComp() | cst.Dict() | cst.BaseNumber() | cst.BaseString() | cst.Lambda():
            return NotLayers()
        case _:
            return Unclear("the list is the value of an expression that cannot be followed", at=_place(at, value))


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
        elements.extend(inner.elements)
    names = [dotted(one.node) for one in elements if dotted(one.node) is not None]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        return Unclear(f"`{repeated}` stands in the list more than once", "SCN204", _place(at, value))
    return Built(tuple(elements))


def _call(project: Project, at: Where, value: cst.Call, depth: int) -> Answer:
    name = dotted(value.func)
    builtin = builtin_called(project, at, value)
    if builtin in ("list", "tuple"):
        if not value.args:
            return Built(())
        if value.args[0].star:
            return _unknown(at, value)
        return list_value(project, at, value.args[0].value, depth + 1)
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
    if builtin in ("range", "zip", "enumerate", "map", "dict", "set", "sorted", "str", "int", "open", "vars", "dir"):
        return NotLayers()
    return _unknown(at, value)


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
        if all(isinstance(side, Built) for side in sides):
            return Built(tuple(e for side in sides if isinstance(side, Built) for e in side.elements))
        return next(side for side in sides if not isinstance(side, Built))
    return NotLayers()


def local_list(project: Project, at: Where, name: str, depth: int = 0) -> Answer:
    """The list that a local (or module-level) name holds."""
    bound = assignments(at.body(), name)
    param = at.parameter(name)
    if param is not None:
        if bound:
            return Unclear(f"`{name}` is a parameter that is assigned again")
        annotation = param.annotation.annotation if param.annotation is not None else None
        return Elsewhere(annotation, at, f"the parameter `{name}`")
    if not bound:
        return Unclear(f"`{name}` is not assigned in this function")
    if len(bound) > 1 or not isinstance(bound[0], cst.Assign | cst.AnnAssign):
        return Unclear(f"`{name}` is assigned in several places", at=_place(at, bound[-1]))
    statement = bound[0]
    if isinstance(statement, cst.Assign) and not any(dotted(t.target) == name for t in statement.targets):
        return Unclear(f"`{name}` is unpacked from another value", at=_place(at, statement))
    assert statement.value is not None
    return filled(project, at, statement, name, statement.value, depth)


def filled(
    project: Project,
    at: Where,
    statement: cst.CSTNode,
    target: str,
    value: cst.BaseExpression,
    depth: int = 0,
) -> Answer:
    """The list a statement assigns to `target`, with what later `append`s add to it, and the site to stack it at."""
    answer = list_value(project, at, value, depth)
    calls = appended(project, at.body(), target)
    if not isinstance(answer, Built):
        return answer
    if isinstance(value, cst.Name) and (later := _changed_later(at, statement, value.value)) is not None:
        return Unclear(f"`{value.value}` is still used as a list after it became the layers", at=_place(at, later))
    if not calls:
        if not answer.elements:
            return Unclear("the list is empty when it is built", at=_place(at, statement))
        return Built(answer.elements, Wrap(_place(at, value)))
    added: list[Element] = []
    for call in calls:
        if dotted(call.func) != f"{target}.append" or len(call.args) != 1:
            return Unclear(f"the list is filled by `{dotted(call.func)}`", at=_place(at, call))
        added.append(_appended_element(project, at, call, statement))
    last = _statement_beside(at, statement, calls[-1])
    if last is None:
        return Unclear("the list is filled in another block than the one that makes it", at=_place(at, calls[-1]))
    return Built((*answer.elements, *added), _after(at, last, target))


def _changed_later(at: Where, statement: cst.CSTNode, name: str) -> cst.CSTNode | None:
    """A mention of a name, after a statement that gave its list away, that may change the list."""
    parsed = at.module.parsed
    around = any(isinstance(above, cst.For | cst.While) for above in parsed.ancestors(statement))
    start = 0 if around else parsed.span(statement).end
    for node in _mentions(at.body(), name):
        above = parsed.parent(node)
        if parsed.span(node).start < start or parsed.parent(above or node) is statement or above is statement:
            continue
        if isinstance(above, cst.AssignTarget | cst.For | cst.CompFor):
            continue
        call = parsed.parent(above) if isinstance(above, cst.Arg) else None
        if call is None or not isinstance(call, cst.Call) or dotted(call.func) not in ("len", "zip", "enumerate"):
            return node
    return None


def _mentions(nodes: Sequence[cst.CSTNode], name: str) -> Iterator[cst.Name]:
    for node in nodes:
        if isinstance(node, cst.Name) and node.value == name:
            yield node
        elif not isinstance(node, cst.Attribute):
            yield from _mentions(node.children, name)
        else:
            yield from _mentions([node.value], name)


def _appended_element(project: Project, at: Where, call: cst.Call, made: cst.CSTNode) -> Element:
    """The element an `append` adds, with what varies in the loops around the call that `made`, the list's own
    statement, is not in: each of their turns makes another list."""
    environment: dict[str, Variety] = {}
    repeated = False
    node = call.args[0].value
    outside = at.module.parsed.ancestors(made)
    for above in reversed(at.module.parsed.ancestors(call)):
        if above in outside:
            continue
        if isinstance(above, cst.For):
            repeated = True
            bind_iteration(project, at, above.target, above.iter, environment)
            _vary_through_body(project, at, above.body.body, environment)
            node = _made_in_loop(above, node)
        elif isinstance(above, cst.While):
            repeated = True
            _vary_through_body(project, at, above.body.body, environment)
            node = _made_in_loop(above, node)
    return Element(node, at, environment, repeated)


def _made_in_loop(loop: cst.For | cst.While, node: cst.BaseExpression) -> cst.BaseExpression:
    """`block = Block(...)` in the loop, then `blocks.append(block)`: the element is the call."""
    if isinstance(node, cst.Name):
        made = assignments(loop.body.body, node.value)
        if len(made) == 1 and isinstance(made[0], cst.Assign):
            return made[0].value
    return node


def _vary_through_body(
    project: Project, at: Where, body: Sequence[cst.CSTNode], environment: dict[str, Variety]
) -> None:
    names = flow(body)
    carried = {name for name in names.bound if name in names.exposed}
    for name in carried:
        environment.setdefault(name, Variety.VALUE)
    for statement in blocks(body):
        if not isinstance(statement, cst.Assign | cst.AugAssign | cst.AnnAssign) or statement.value is None:
            continue
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
        key = is_keys(project, at, statement.value)
        varies = culprit(project, at, statement.value, environment) is not None
        varies = varies or _in_some_turns(project, at, statement, body, environment)
        for name in [name for target in targets for name in target_names(target)]:
            if key:
                environment[name] = Variety.KEY
            elif varies or (name in carried and not isinstance(statement, cst.Assign)):
                environment[name] = Variety.VALUE
            elif name not in carried:
                environment.pop(name, None)


def _in_some_turns(
    project: Project, at: Where, statement: cst.CSTNode, body: Sequence[cst.CSTNode], environment: dict[str, Variety]
) -> bool:
    """Whether a statement of a loop's body stands under a condition that varies from turn to turn."""
    for above in at.module.parsed.ancestors(statement):
        if isinstance(above, cst.If) and culprit(project, at, above.test, environment) is not None:
            return True
        if above in body:
            return False
    return False


def _statement_beside(at: Where, first: cst.CSTNode, inner: cst.CSTNode) -> cst.CSTNode | None:
    """The statement that holds `inner` in the very block that holds `first`."""
    parsed = at.module.parsed
    line = parsed.parent(first)
    block = parsed.parent(line) if line is not None else None
    below = inner
    for above in parsed.ancestors(inner):
        if above is block:
            return below
        below = above
    return None


def _after(at: Where, statement: cst.CSTNode, target: str) -> After:
    parsed = at.module.parsed
    span = parsed.span(statement)
    text = parsed.source.text
    start = parsed.line_start(span.line)
    indent = text[start : len(text) - len(text[start:].lstrip(" \t"))]
    place = Place(parsed.source.path, type(span)(start, parsed.line_start(span.end_line + 1), span.line, span.end_line))
    return After(place, target, indent)


@dataclass(frozen=True, eq=False)
class LayerList:
    """A list of layers as a loop sees it.

    `owner` and `attribute` say whose attribute it is (None for a local list); `scope` is where it is built.
    """

    answer: Answer
    scope: Where
    owner: Definition | None = None
    attribute: str | None = None
