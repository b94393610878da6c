"""Independent layers: a comprehension over modules, or a loop that only appends, becomes a plan or a refusal."""

from collections.abc import Sequence

import libcst as cst

from scanify.analysis.answers import Built, Elsewhere
from scanify.analysis.around import captures, caught, lost_values
from scanify.analysis.body import call_arguments
from scanify.analysis.children import children
from scanify.analysis.classify import Found, layers_of
from scanify.analysis.code import code_of
from scanify.analysis.comprehension import (
    Node,
    Walk,
    appending,
    applies,
    may_apply,
    names_around,
    taken_whole,
    walk_of,
)
from scanify.analysis.counted import in_another_form, index_walked, numbers, per_layer, walked
from scanify.analysis.effects import EffectFinder, Problem
from scanify.analysis.facts import Place
from scanify.analysis.few import few_layers
from scanify.analysis.header import Header, header
from scanify.analysis.identity import identity_problems
from scanify.analysis.layer_class import layer_obligations, layer_problem, methods_called, state_of_any
from scanify.analysis.names import body_of, flow, reads, target_names
from scanify.analysis.objections import head_problem, reads_index, walks_other_layers
from scanify.analysis.plan import Body, CallStack, Holds, InitStack, Kind, LayerCall, Mapped, PerLayer, Plan, Refusal
from scanify.analysis.project import Module, Project, dotted
from scanify.analysis.stack_choice import Context, choose_stack, list_obligations, may_be_replaced_in, told, with_owner
from scanify.analysis.walking_calls import map_walk
from scanify.analysis.where import Where, builtin_called, where

IGNORE = "scanify: ignore"
_CONSTRUCTORS = frozenset("__init__ __post_init__ __check_init__ init".split())

_TEXTS = frozenset("str repr format ascii".split())

Reason = tuple[str, str, Place | None]


def plan_comprehension(context: Context, module: Module, node: Node) -> Plan | Refusal | None:
    """Decide about one comprehension. None: it does not apply modules, or gains nothing."""
    return _expression(context, where(module, node), walk_of(node)) if may_apply(node) else None


def plan_map(context: Context, module: Module, call: cst.Call) -> Plan | Refusal | None:
    """Decide about one call of `map`. None: it is none, does not apply modules, or gains nothing."""
    at = where(module, call)
    walk = map_walk(context.project, at, call)
    around = names_around(at, call) if walk is not None else None
    return _expression(context, at, walk) if walk is not None and around is not None and "map" not in around else None


def _expression(context: Context, at: Where, walk: Walk) -> Plan | Refusal | None:
    around = None if ignored(at.module, walk.node) else names_around(at, walk.node)
    if around is None or around & free_names(at, walk.loop.iter):
        return None
    return _decided(context, at, walk, around)


def free_names(at: Where, walked: cst.BaseExpression) -> set[str]:
    """The names that must stand for the same beside an expression as in the function around."""
    return set(reads(walked)) | ({at.self_name} if at.self_name is not None else set())


def plan_appending(context: Context, module: Module, loop: cst.For) -> Plan | None:
    """Decide about a loop that does nothing but append what each layer gives. None: it is not one, or is refused."""
    at = where(module, loop)
    walk = appending(at, loop)
    decision = _decided(context, at, walk, frozenset()) if walk is not None else None
    return decision if isinstance(decision, Plan) else None


def ignored(module: Module, node: cst.CSTNode) -> bool:
    """Whether a comment in an expression's statement, or right above it, says `# scanify: ignore`."""
    statement: cst.CSTNode = node
    for above in module.parsed.ancestors(node):
        if isinstance(above, cst.BaseSuite | cst.Module):
            break
        statement = above
    comments = [line.comment for line in getattr(statement, "leading_lines", ()) if line.comment is not None]
    text, end = module.parsed.source.text, module.parsed.span(node).end
    stop = min([at for at in (text.find(one, end) for one in "\r\n") if at >= 0], default=len(text))
    stretch = text[module.parsed.span(statement).start : stop]
    return IGNORE in stretch or any(IGNORE in one.value for one in comments)


def apart_from_lists(loops: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """The decisions, with comprehensions refused that stand where a list is built that another plan stacks."""
    sites = [
        site.place
        for one in loops
        if isinstance(one, Plan) and isinstance(one.stack, InitStack)
        for site in one.stack.sites
    ]

    def within(plan: Plan) -> bool:
        path, span = plan.place.path, plan.place.span
        return any(site.path == path and site.span.start < span.end and span.start < site.span.end for site in sites)

    return [
        refused(
            one, "SCN212", f"the {'comprehension' if one.mapped else 'loop'} is a part of a list that is built stacked"
        )
        if isinstance(one, Plan) and (one.mapped is not None or one.folded is not None) and within(one)
        else one
        for one in loops
    ]


def refused(plan: Plan, rule: str, reason: str, remedy: str = "") -> Refusal:
    """The loop of a plan, refused after all."""
    return Refusal(
        place=plan.place,
        rule=rule,
        reason=reason,
        kind=plan.kind,
        container=plan.container,
        carry=plan.carry,
        xs=plan.xs,
        broadcast=plan.broadcast,
        remedy=remedy,
    )


def _decided(context: Context, at: Where, walk: Walk, around: frozenset[str]) -> Plan | Refusal | None:
    project = context.project
    head = header(project, at, walk.loop)
    found = layers_of(project, at, head, walk.loop)
    if found is None:
        return None
    layer = dotted(found.part.target)
    constructs = at.functions and at.functions[-1].name.value in _CONSTRUCTORS and at.owner is not None
    if layer is None or constructs or not applies(project, at, walk.element, layer) or few_layers(found):
        return None
    problem = _problem(project, at, walk, head, found, layer, around)
    if problem is not None:
        return _refusal(at, walk, head, found, *problem)
    stack = choose_stack(context, at, walk.node, found)
    if isinstance(stack, InitStack | CallStack):
        return _plan(context, at, walk, head, found, layer, stack)
    return _refusal(at, walk, head, found, *stack)


def _refusal(
    at: Where, walk: Walk, head: Header, found: Found, rule: str, reason: str, place: Place | None, remedy: str = ""
) -> Refusal:
    return Refusal(
        place=at.module.parsed.place(walk.node),
        rule=rule,
        reason=reason,
        kind=Kind.MAP,
        container=code_of(found.part.source),
        xs=_xs(at, head, walk, found),
        at=place,
        remedy=remedy,
    )


# -- what speaks against it ---------------------------------------------------------------------------------------


def _problem(
    project: Project, at: Where, walk: Walk, head: Header, found: Found, layer: str, around: frozenset[str]
) -> Reason | None:
    node = walk.node
    place = at.place
    if isinstance(node, cst.ListComp | cst.GeneratorExp):
        if node.for_in.inner_for_in is not None:
            return "SCN213", "the comprehension has several `for`s", place(node.for_in.inner_for_in)
        if node.for_in.ifs:
            return "SCN213", "the comprehension has an `if`", place(node.for_in.ifs[0])
    if not isinstance(node, cst.For) and not taken_whole(project, at, node):
        what = "`map`" if isinstance(node, cst.Call) else "generator"
        return "SCN213", f"the {what} is not shown to be walked at once and to its end", None
    problem = head_problem(project, at, head, found, walk.loop)
    if problem is not None:
        return problem
    if found.reason is not None:
        return found.reason
    if found.kind is None and not isinstance(found.layers.answer, Built):
        return "SCN201", f"the elements of `{code_of(found.part.source)}` are not shown to be modules", None
    names = target_names(walk.loop.target)
    if len(set(names)) != len(names) or any(not isinstance(part.target, cst.Name) for part in head.parts):
        return "SCN213", f"the target `{code_of(walk.loop.target)}` is more than one name for each part", None
    problems = _problems(project, at, walk, layer, around)
    if problems:
        return problems[0].rule, problems[0].reason, at.place(problems[0].node)
    return layer_problem(project, found.kinds, methods_called(walk.loop, layer))


def _problems(project: Project, at: Where, walk: Walk, layer: str, around: frozenset[str]) -> list[Problem]:
    own = frozenset(target_names(walk.loop.target))
    found = _effects(project, at, walk, layer, around).effects.problems
    found += [
        Problem("SCN212", f"`{name}` is bound by `:=` in the element", node)
        for name, node in flow([cst.Expr(walk.element)]).bound.items()
    ]
    found += identity_problems(project, at, [walk.element], frozenset((layer,)), own)
    found += _texts(project, at, walk.element)
    if isinstance(walk.node, cst.For):
        names = flow(body_of(walk.node.body))
        found += lost_values(project, at, walk.node, names, set(own), ())
        found += captures(at, walk.node, set(), set(own))
        found += caught(project, at, walk.node, ())
        if walk.appends_to in reads(walk.element):
            found.append(Problem("SCN206", f"`{walk.appends_to}` is read while it is filled", walk.element))
    return found


def _texts(project: Project, at: Where, node: cst.CSTNode) -> list[Problem]:
    """Strings that are made in an element: of an array that is traced they would say that it is."""
    if isinstance(node, cst.FormattedString) or builtin_called(project, at, node) in _TEXTS:
        return [Problem("SCN207", f"`{code_of(node)}` makes a string of what may be a traced array", node)]
    return [problem for child in children(node) for problem in _texts(project, at, child)]


def _effects(project: Project, at: Where, walk: Walk, layer: str, around: frozenset[str]) -> EffectFinder:
    own = frozenset(target_names(walk.loop.target)) | around
    finder = EffectFinder(project, at, own, frozenset(), layers=frozenset((layer,)))
    finder.body([cst.Assign([cst.AssignTarget(cst.Name("_"))], walk.element)])
    return finder


# -- the plan -----------------------------------------------------------------------------------------------------


def _plan(
    context: Context,
    at: Where,
    walk: Walk,
    head: Header,
    found: Found,
    layer: str,
    stack: InitStack | CallStack,
) -> Plan:
    project, parsed = context.project, at.module.parsed
    xs = _xs(at, head, walk, found)
    alike = (
        not (isinstance(found.layers.answer, Elsewhere) and isinstance(stack, CallStack))
        and found.kind is not None
        and found.unlike is None
        and state_of_any(project, found.kinds) is None
        and not may_be_replaced_in(project, found, stack)
        and not reads_index(head, walk.loop)
        and not in_another_form(found)
        and not walks_other_layers(project, at, head, found)
    )
    effects = _effects(project, at, walk, layer, frozenset()).effects
    targets = set(target_names(walk.loop.target))
    local = at.locals - {at.self_name}
    return Plan(
        place=parsed.place(walk.node),
        kind=Kind.MAP,
        container=walked(found, stack),
        numbers=numbers(found, stack),
        layer=layer,
        carry=(),
        body=_body(at, walk),
        stack=stack,
        xs=xs,
        broadcast=tuple(name for name in reads(walk.element) if name in local and name not in targets),
        ys=(walk.appends_to,) if walk.appends_to is not None else (),
        call=with_owner(project, at, _layer_call(walk, head, layer), found, stack),
        obligations=tuple(
            dict.fromkeys(
                (
                    *list_obligations(project, found, stack),
                    *layer_obligations(project, found.kinds, methods_called(walk.loop, layer)),
                    *effects.obligations,
                )
            )
        ),
        notes=(*dict.fromkeys(effects.notes), *told(stack)),
        rule="SCN104",
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
        replaced=parsed.replaced_in(parsed.span(walk.node)),
        mapped=Mapped(parsed.code(walk.element), walk.appends_to),
    )


def _xs(at: Where, head: Header, walk: Walk, found: Found) -> tuple[PerLayer, ...]:
    """The layer's number, where the element reads it, and what is walked beside the layers."""
    return (*index_walked(head, found, walk.loop), *per_layer(at, head, found))


def _body(at: Where, walk: Walk) -> Body:
    parsed = at.module.parsed
    span = parsed.span(walk.node)
    if not isinstance(walk.node, cst.For) or isinstance(walk.node.body, cst.SimpleStatementSuite):
        return Body(span, "", "", inline=True)
    text = parsed.source.text
    indents = [text[parsed.line_start(one.line) : one.start] for one in (parsed.span(_first(walk.node)), span)]
    return Body(span, indents[0], indents[1])


def _first(loop: cst.For) -> cst.CSTNode:
    statements: Sequence[cst.CSTNode] = body_of(loop.body)
    return statements[0]


def _layer_call(walk: Walk, head: Header, layer: str) -> LayerCall | None:
    """The call, where the element is `layer.method(...)` with arguments that are what is walked, or are shared."""
    call = walk.element
    if not isinstance(call, cst.Call) or not call.args or call.lpar or reads_index(head, walk.loop):
        return None
    name = dotted(call.func)
    method = "__call__" if name == layer else (name or "").removeprefix(f"{layer}.")
    if name is None or (name != layer and (not name.startswith(f"{layer}.") or "." in method)):
        return None
    arguments = call_arguments(call.args, set(target_names(walk.loop.target)), head, layer)
    return LayerCall(method, None, arguments) if arguments is not None else None
