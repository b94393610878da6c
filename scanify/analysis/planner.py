"""From one loop to a plan, to a refusal, or to nothing where the loop is not over modules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import libcst as cst

from scanify.analysis.body import BodyFacts, body_facts
from scanify.analysis.classes import declarations, method
from scanify.analysis.classify import LIST_TYPES, Found, classify, element_annotation, layers_of, unquoted
from scanify.analysis.container import container
from scanify.analysis.facts import Place, Span
from scanify.analysis.header import Header, Part, header
from scanify.analysis.layer_class import layer_problem, methods_called
from scanify.analysis.layers import Built, Elsewhere, LayerList
from scanify.analysis.names import body_of, flow, target_names
from scanify.analysis.plan import (
    After,
    Annotation,
    Body,
    CallStack,
    InitStack,
    Kind,
    LayerCall,
    PerLayer,
    Plan,
    Refusal,
)
from scanify.analysis.project import Definition, Module, Project, dotted
from scanify.analysis.uses import may_be_replaced, other_use
from scanify.analysis.where import Where, assignments, builtin_called, where

StackChoice = Literal["init", "call"] | None

_LAZY = frozenset("iter zip map filter enumerate reversed dict set frozenset str".split())


@dataclass(frozen=True, eq=False)
class Context:
    """What planning needs beside the loop: the project and the way to stack."""

    project: Project
    stack: StackChoice


def plan_loop(context: Context, module: Module, loop: cst.For) -> Plan | Refusal | None:
    """Decide about one loop. None: it is not over modules, or asks to be left alone."""
    at = where(module, loop)
    head = header(context.project, at, loop)
    found = layers_of(context.project, at, head, loop)
    if found is None:
        return _indexed(context, at, loop, head)
    layer = dotted(found.part.target)
    if layer is None or "." in layer:
        return None
    facts = body_facts(context.project, at, loop, head, layer)
    if not facts.applies_layer and layer not in flow(body_of(loop.body)).exposed:
        return None
    problem = (
        _head_problem(context.project, at, head, found, loop)
        or _first_problem(facts, found)
        or layer_problem(context.project, found.kind, methods_called(loop, layer))
    )
    if problem is not None:
        return _refusal(at, loop, head, found, facts, *problem)
    return _plan(context, at, loop, head, found, facts)


# -- reasons against ----------------------------------------------------------------------------------------------

Reason = tuple[str, str, Place | None]


def _head_problem(project: Project, at: Where, head: Header, found: Found, loop: cst.For) -> Reason | None:
    place = at.module.parsed.place
    if at.enclosed:
        return "SCN201", "the class stands inside a function, whose names are not followed", None
    if head.problem is not None:
        return "SCN213", head.problem, place(loop.iter)
    if loop.asynchronous is not None:
        return "SCN213", "the loop is an `async for`", None
    if loop.orelse is not None:
        return "SCN213", "the loop has an `else`", place(loop.orelse)
    if found.part.form is not None and not found.part.form.startswith(("`list", "`tuple")):
        return "SCN213", f"the layers are walked through {found.part.form}", place(found.part.whole)
    if head.index is not None and set(flow([cst.Expr(head.index)]).exposed) & set(flow(body_of(loop.body)).exposed):
        return "SCN208", f"the body uses the layer's index `{dotted(head.index)}`", place(loop.iter)
    names = target_names(loop.target)
    if names.count(dotted(found.part.target) or "") > 1:
        return "SCN213", f"`{dotted(found.part.target)}` is bound twice by the loop", place(loop.target)
    for part in head.parts:
        if not _plain(part.target):
            return "SCN207", f"`{_code(part.target)}` is assigned in every turn of the loop", place(part.target)
        if part is found.part:
            continue
        reason = _walked_problem(project, at, part)
        if reason is not None:
            return (*reason, place(part.whole))
    return None


def _walked_problem(project: Project, at: Where, part: Part) -> tuple[str, str] | None:
    name = builtin_called(project, at, part.whole)
    if name == "range":
        return "SCN208", "the body uses the layer's index"
    if name in ("zip", "enumerate", "map", "filter", "iter"):
        return "SCN213", f"`{name}` is walked beside the layers"
    if part.form is not None and part.form not in ("a slice", "`list(...)`", "`tuple(...)`"):
        return "SCN213", f"a value is walked beside the layers through {part.form}"
    for value in (part.whole, *_assigned(at, part.whole)):
        lazy = builtin_called(project, at, value) in _LAZY
        if lazy or isinstance(value, cst.Dict | cst.DictComp | cst.Set | cst.SetComp | cst.GeneratorExp):
            return "SCN213", "what is walked beside the layers is not an array or a list"
        if isinstance(value, cst.BaseString):
            return "SCN213", "a string is walked beside the layers"
    if dotted(part.source) is not None:
        other = classify(project, part, container(project, at, part.source))
        if other is not None and other.kind is not None:
            return "SCN213", f"`{dotted(part.source)}` is a second list of layers"
    return None


def _assigned(at: Where, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values that a name is assigned in the function."""
    name = dotted(node)
    return [
        statement.value
        for statement in (assignments(at.body(), name) if name is not None else ())
        if isinstance(statement, cst.Assign) and any(dotted(target.target) == name for target in statement.targets)
    ]


def _plain(target: cst.BaseExpression) -> bool:
    """Whether a target binds names and does nothing else."""
    if isinstance(target, cst.Tuple | cst.List):
        return all(_plain(element.value) for element in target.elements)
    return isinstance(target, cst.Name)


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def _first_problem(facts: BodyFacts, found: Found) -> Reason | None:
    if not facts.carry and all(one.rule == "SCN209" for one in facts.problems):
        return "SCN210", "no value goes from one layer to the next", None
    if facts.problems:
        first = facts.problems[0]
        return first.rule, first.reason, None
    return found.reason


def _refusal(
    at: Where,
    loop: cst.For,
    head: Header,
    found: Found,
    facts: BodyFacts,
    rule: str,
    reason: str,
    place: Place | None,
    remedy: str = "",
) -> Refusal:
    if place is None and facts.problems and facts.problems[0].reason == reason:
        place = at.module.parsed.place(facts.problems[0].node)
    collects = any(one.rule == "SCN206" for one in facts.problems)
    kind = Kind.FOLD
    if collects:
        kind = Kind.SCAN if facts.carry else Kind.MAP
    elif not facts.carry:
        kind = Kind.MAP
    elif rule in ("SCN202", "SCN203"):
        kind = Kind.GROUP
    return Refusal(
        place=at.module.parsed.place(loop),
        rule=rule,
        reason=reason,
        kind=kind,
        container=at.module.parsed.code(found.part.source),
        carry=facts.carry,
        xs=_per_layer(at, head, found),
        broadcast=facts.broadcast,
        at=place,
        remedy=remedy,
    )


def _indexed(context: Context, at: Where, loop: cst.For, head: Header) -> Refusal | None:
    """`for i in range(n): x = self.layers[i](x)`: a loop over modules, by index."""
    if head.index is None or not isinstance(head.index, cst.Name) or head.parts:
        return None
    for node in _subscripts(loop.body, head.index.value):
        layers = container(context.project, at, node.value)
        part = Part(node, node.value, node.value)
        found = classify(context.project, part, layers)
        if found is not None and found.kind is not None:
            facts = body_facts(context.project, at, loop, head, head.index.value)
            reason = f"the layers are taken by index, `{at.module.parsed.code(node)}`"
            return _refusal(at, loop, Header(()), found, facts, "SCN208", reason, at.module.parsed.place(node))
    return None


def _subscripts(node: cst.CSTNode, index: str) -> list[cst.Subscript]:
    found: list[cst.Subscript] = []
    if isinstance(node, cst.Subscript) and dotted(node.value) is not None and len(node.slice) == 1:
        inner = node.slice[0].slice
        if isinstance(inner, cst.Index) and dotted(inner.value) == index:
            found.append(node)
    for child in node.children:
        found.extend(_subscripts(child, index))
    return found


# -- the plan -----------------------------------------------------------------------------------------------------


def _plan(context: Context, at: Where, loop: cst.For, head: Header, found: Found, facts: BodyFacts) -> Plan | Refusal:
    stack = _stack(context, at, loop, found)
    if not isinstance(stack, InitStack | CallStack):
        rule, reason, place, remedy = stack
        return _refusal(at, loop, head, found, facts, rule, reason, place, remedy)
    layer = dotted(found.part.target)
    assert layer is not None
    return Plan(
        place=at.module.parsed.place(loop),
        kind=Kind.FOLD,
        container=at.module.parsed.code(found.part.source),
        layer=layer,
        carry=facts.carry,
        body=_body(at, loop),
        stack=stack,
        xs=_per_layer(at, head, found),
        broadcast=facts.broadcast,
        call=_with_owner(context.project, at, facts.call, found, stack),
        taken=frozenset(_all_names(at.module.parsed.module)),
        obligations=(*_list_obligations(found.layers), *facts.obligations),
        notes=facts.notes,
    )


def _list_obligations(layers: LayerList) -> tuple[str, ...]:
    """A list that comes from the caller may hold anything of its element type."""
    if isinstance(layers.answer, Elsewhere):
        return (f"the layers of {layers.answer.what} differ only in the values of their arrays",)
    return ()


def _per_layer(at: Where, head: Header, found: Found) -> tuple[PerLayer, ...]:
    code = at.module.parsed.code
    return tuple(PerLayer(code(part.target), code(part.whole)) for part in head.parts if part is not found.part)


def _stack(
    context: Context, at: Where, loop: cst.For, found: Found
) -> InitStack | CallStack | tuple[str, str, Place | None, str]:
    answer = found.layers.answer
    if context.stack == "call":
        return CallStack("asked for")
    if isinstance(answer, Elsewhere):
        if context.stack == "init":
            return "SCN201", f"the list is {answer.what}, built by the caller", None, "use `--stack call`"
        return CallStack(f"the list is {answer.what}")
    assert isinstance(answer, Built)
    site = answer.site
    if site is None:
        return "SCN201", "the list is not assigned to a name that could hold a stack", None, "use `--stack call`"
    if site.place.path not in context.project.given:
        remedy = f"give `{site.place.path}` too, or use `--stack call`"
        return "SCN201", f"the list is built in `{site.place.path}`, which was not given", site.place, remedy
    if site.place.path == at.module.path and at.function is found.layers.scope.function and at.function is not None:
        start = at.module.parsed.span(loop).start
        if isinstance(site, After) and start < site.place.span.end:
            return "SCN214", "the loop runs before the list is complete", site.place, "use `--stack call`"
    held = _held(context.project, found.layers)
    if held is not None:
        return held
    name = dotted(found.part.source) or ""
    use = other_use(context.project, found.layers, name)
    if use is not None:
        return "SCN214", use.reason, use.place, "use `--stack call`, which leaves the list as it is"
    return InitStack((site,), _annotations(context.project, found.layers))


def _held(project: Project, layers: LayerList) -> tuple[str, str, Place | None, str] | None:
    """A field that does not keep what is assigned to it, or hides it from gradients."""
    if layers.owner is None or layers.attribute is None:
        return None
    for declared in declarations(project, layers.owner, layers.attribute):
        for arg in declared.value.args if isinstance(declared.value, cst.Call) else ():
            keyword = arg.keyword.value if arg.keyword is not None else ""
            if keyword == "converter" or (keyword == "static" and dotted(arg.value) != "False"):
                place = declared.owner.module.parsed.place(declared.value or declared.annotation)
                reason = f"the field `{layers.attribute}` has `{keyword}={_code(arg.value)}`"
                return "SCN214", reason, place, "use `--stack call`"
    return None


def _annotations(project: Project, layers: LayerList) -> tuple[Annotation, ...]:
    if layers.owner is None or layers.attribute is None:
        return ()
    found = []
    for declared in declarations(project, layers.owner, layers.attribute):
        annotation = declared.annotation
        plain = unquoted(annotation)
        element = element_annotation(annotation)
        bare = (dotted(plain) or "").rpartition(".")[2] in LIST_TYPES
        if element is None and not bare:
            continue
        text = _code(element) if element is not None else None
        place = declared.owner.module.parsed.place(annotation)
        found.append(Annotation(place, text, isinstance(annotation, cst.SimpleString)))
    return tuple(found)


def _with_owner(
    project: Project, at: Where, call: LayerCall | None, found: Found, stack: InitStack | CallStack
) -> LayerCall | None:
    """Name the class whose method the call runs, where every layer is shown to be of exactly that class."""
    if call is None or found.kind is None or not found.kind.exact:
        return call
    if isinstance(stack, CallStack) and may_be_replaced(project, found.layers):
        return call
    meaning = found.kind.meaning
    if isinstance(meaning, Definition):
        if call.method != "__call__" and not _is_plain_method(project, meaning, call.method):
            return call
        owner = project.name_for(at.module, meaning, at.locals)
        return replace(call, owner=owner)
    if call.method != "__call__":
        return call
    assert isinstance(found.layers.answer, Built)
    node = found.layers.answer.elements[0].node
    name = dotted(node.func) if isinstance(node, cst.Call) else None
    if name is not None and name.partition(".")[0] not in at.locals and project.resolve(at.module, name) == meaning:
        return replace(call, owner=name)
    return call


def _is_plain_method(project: Project, owner: Definition, name: str) -> bool:
    found = method(project, owner, name)
    if found is None:
        return False
    decorators = [dotted(one.decorator) or "" for one in found[1].decorators]
    return not any(one.rpartition(".")[2] in ("staticmethod", "classmethod", "property") for one in decorators)


def _body(at: Where, loop: cst.For) -> Body:
    parsed = at.module.parsed
    text = parsed.source.text
    line = parsed.line_start(parsed.span(loop).line)
    loop_indent = text[line : parsed.span(loop).start]
    statements = body_of(loop.body)
    first, last = parsed.span(statements[0]), parsed.span(statements[-1])
    if isinstance(loop.body, cst.SimpleStatementSuite):
        return Body(Span(first.start, last.end, first.line, last.end_line), "", loop_indent, inline=True)
    head_end = parsed.span(loop.iter).end_line
    start = parsed.line_start(_line_after_colon(parsed.span(loop.iter).end, text, head_end))
    end = parsed.line_start(last.end_line + 1)
    indent_start = parsed.line_start(first.line)
    indent = text[indent_start : first.start]
    return Body(Span(start, end, first.line, last.end_line), indent, loop_indent)


def _line_after_colon(after_iter: int, text: str, line: int) -> int:
    """The line below the one that the head's colon stands on; between the two there may be a closing parenthesis."""
    colon = text.index(":", after_iter)
    return line + text.count("\n", after_iter, colon) + 1


def _all_names(node: cst.CSTNode) -> set[str]:
    found: set[str] = {node.value} if isinstance(node, cst.Name) else set()
    for child in node.children:
        found |= _all_names(child)
    return found


def loops_of(node: cst.CSTNode) -> Sequence[cst.For]:
    """Every `for` statement of a file, in source order."""
    found: list[cst.For] = [node] if isinstance(node, cst.For) else []
    for child in node.children:
        found.extend(loops_of(child))
    return found
