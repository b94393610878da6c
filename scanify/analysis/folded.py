"""Layers that `functools.reduce` applies one after another: a call that is a fold becomes a plan or a refusal."""

import libcst as cst

from scanify.analysis.around import caught
from scanify.analysis.body import layer_call
from scanify.analysis.calls import Problem
from scanify.analysis.children import all_of
from scanify.analysis.classify import Found, layers_of
from scanify.analysis.comprehension import applies, names_around
from scanify.analysis.counted import index_walked, numbers, per_layer, walked
from scanify.analysis.effects import EffectFinder, Effects
from scanify.analysis.facts import Place
from scanify.analysis.few import turns_few
from scanify.analysis.grouping import parted
from scanify.analysis.header import Header, header
from scanify.analysis.identity import identity_problems
from scanify.analysis.layer_class import layer_obligations, layer_problem, methods_called
from scanify.analysis.mapped import free_names, ignored
from scanify.analysis.names import body_of, flow, reads, target_names
from scanify.analysis.objections import head_problem
from scanify.analysis.plan import Body, CallStack, Folded, Holds, InitStack, Kind, Plan, Refusal
from scanify.analysis.planner import FEW_TURNS, are_alike
from scanify.analysis.project import Module, Project, dotted
from scanify.analysis.reduction import Reduction, reduction
from scanify.analysis.stack_choice import Context, choose_stack, list_obligations, told, with_owner
from scanify.analysis.starts import number_asked_for, start_of
from scanify.analysis.sums import only_sums
from scanify.analysis.where import Where, where

Reason = tuple[str, str, Place | None]


def plan_reduce(context: Context, module: Module, call: cst.Call) -> Plan | Refusal | None:
    """Decide about one call. None: it is no `functools.reduce`, or it does not apply modules."""
    project, at = context.project, where(module, call)
    fold = reduction(project, at, call)
    around = names_around(at, call) if fold is not None and not ignored(module, call) else None
    if fold is None or around is None or around & {*free_names(at, fold.loop.iter), *reads(call.func)}:
        return None
    head = header(project, at, fold.loop)
    found = layers_of(project, at, head, fold.loop)
    layer = dotted(found.part.target) if found is not None else None
    if found is None or layer is None or not _applies(project, at, fold, found, layer):
        return None
    own = around | {fold.carry, *target_names(fold.loop.target)}
    effects = EffectFinder(project, at, own, frozenset(), layers=frozenset((layer,))).body(body_of(fold.loop.body))
    if len(head.parts) > 1 and fold.start is not None:
        # What is walked beside the layers comes before the value to begin with, and after it in a fold.
        given = [cst.Assign([cst.AssignTarget(cst.Name("_"))], one) for one in (fold.loop.iter, fold.start)]
        before = EffectFinder(project, at, around, frozenset()).body(given)
        effects.problems += before.problems
        effects.oblige_as(before)
    problem = _problem(project, at, fold, head, found, layer, effects)
    if problem is not None:
        return _refusal(project, at, fold, head, found, *problem)
    stack = choose_stack(context, at, call, found)
    if isinstance(stack, InitStack | CallStack):
        return _plan(project, at, fold, head, found, layer, effects, stack)
    return _refusal(project, at, fold, head, found, *stack)


def _applies(project: Project, at: Where, fold: Reduction, found: Found, layer: str) -> bool:
    """Whether the function applies the layer, or hands it on beside the carry to one that may do so.

    What the source does not show to be modules must be called by the function itself: arrays may be added by one.
    """
    if isinstance(fold.update, cst.Lambda) or isinstance(fold.start, cst.Lambda):
        return False  # functions put together, of which one is called in the end
    if fold.function is None:
        handed = found.kind is not None and _hands_on(fold.update, fold.carry, layer)
        return handed or applies(project, at, fold.update, layer)
    names, code = fold.function.names, fold.function.code
    if len(names) != 2 or any(isinstance(one.value, cst.Lambda) for one in all_of(cst.Return, *code)):
        return False
    item, inside = names[1], Where(fold.function.module)
    parts = [one.targets[0].target for one in all_of(cst.Assign, *code) if dotted(one.value) == item]
    known = [item, *(name for one in parts for name in target_names(one))]
    return any(applies(project, inside, one, name) for one in code for name in known) or any(
        isinstance(call.func, cst.Subscript) and dotted(call.func.value) == item for call in all_of(cst.Call, *code)
    )


def _hands_on(update: cst.BaseExpression, carry: str, layer: str) -> bool:
    """`step(x, layer)`."""
    return any({carry, layer} <= {dotted(arg.value) for arg in call.args} for call in all_of(cst.Call, update))


# -- what speaks against it ---------------------------------------------------------------------------------------


def _problem(
    project: Project, at: Where, fold: Reduction, head: Header, found: Found, layer: str, effects: Effects
) -> Reason | None:
    if fold.problem is not None:
        return "SCN213", fold.problem, None
    if fold.start is None:
        return "SCN213", "`reduce` is given no value to begin with: the first layer would be the carry", None
    return (
        head_problem(project, at, head, found, fold.loop)
        or _body_problem(project, at, fold, layer, effects)
        or found.reason
        or layer_problem(project, found.kinds, methods_called(fold.loop, layer))
        or (FEW_TURNS if turns_few(found) else None)
    )


def _body_problem(project: Project, at: Where, fold: Reduction, layer: str, effects: Effects) -> Reason | None:
    assert fold.start is not None
    own = frozenset((fold.carry, *target_names(fold.loop.target)))
    if fold.carry not in reads(fold.update):
        return "SCN210", "no value goes from one layer to the next", None
    start = start_of(project, at, fold.node, fold.carry, fold.start)
    if start.empty:
        return "SCN206", f"`{fold.carry}` starts empty and grows with every layer", at.place(fold.start)
    bound = flow([cst.Expr(one) for one in (fold.update, fold.loop.iter, fold.start)]).bound
    problems = [
        *effects.problems,
        *(Problem("SCN212", f"`{name}` is bound by `:=` in the call", node) for name, node in bound.items()),
        *identity_problems(project, at, body_of(fold.loop.body), frozenset((layer,)), own),
        *caught(project, at, fold.node, ()),
        *number_asked_for(fold.loop.body, {fold.carry} if start.number else ()),
    ]
    return (problems[0].rule, problems[0].reason, at.place(problems[0].node)) if problems else None


def _refusal(
    project: Project,
    at: Where,
    fold: Reduction,
    head: Header,
    found: Found,
    rule: str,
    reason: str,
    place: Place | None,
    remedy: str = "",
) -> Refusal:
    return Refusal(
        place=at.module.parsed.place(fold.node),
        rule=rule,
        reason=reason,
        kind=_kind(project, at, fold, head, found),
        container=at.code(found.part.source),
        carry=(fold.carry,),
        xs=per_layer(at, head, found),
        broadcast=_broadcast(at, fold),
        at=place,
        remedy=remedy,
    )


# -- the plan -----------------------------------------------------------------------------------------------------


def _plan(
    project: Project,
    at: Where,
    fold: Reduction,
    head: Header,
    found: Found,
    layer: str,
    effects: Effects,
    stack: InitStack | CallStack,
) -> Plan:
    assert fold.start is not None
    parsed, targets = at.module.parsed, set(target_names(fold.loop.target))
    start = start_of(project, at, fold.node, fold.carry, fold.start)
    call = layer_call(body_of(fold.loop.body), frozenset((layer,)), (fold.carry,), targets, head)
    alike = are_alike(project, at, fold.loop, head, found, stack) and not start.another
    obligations = (
        *list_obligations(project, found, stack),
        *layer_obligations(project, found.kinds, methods_called(fold.loop, layer)),
        *effects.obligations,
        *start.obligations,
    )
    return Plan(
        place=parsed.place(fold.node),
        kind=_kind(project, at, fold, head, found),
        container=walked(found, stack),
        numbers=numbers(found, stack),
        layer=layer,
        carry=(fold.carry,),
        body=Body(parsed.span(fold.node), "", "", inline=True),
        stack=stack,
        xs=(*index_walked(head, found, fold.loop), *per_layer(at, head, found)),
        broadcast=_broadcast(at, fold),
        call=with_owner(project, at, call, found, stack),
        obligations=tuple(dict.fromkeys(obligations)),
        notes=(*dict.fromkeys(effects.notes), *told(stack)),
        replaced=parsed.replaced_in(parsed.span(fold.node)),
        rule="SCN101" if alike else "SCN102",
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
        folded=Folded(at.code(fold.update), at.code(fold.start)),
    )


def _kind(project: Project, at: Where, fold: Reduction, head: Header, found: Found) -> Kind:
    if only_sums(fold.loop, (fold.carry,)):
        return Kind.MAP  # independent layers, whatever is done with what they give
    begins = tuple(reads(fold.start)) if isinstance(fold.start, cst.Name | cst.Tuple) else (fold.carry,)
    return Kind.FOLD if parted(project, at, head, found, fold.loop, begins) is None else Kind.GROUP


def _broadcast(at: Where, fold: Reduction) -> tuple[str, ...]:
    """The names of the function around that every layer sees alike."""
    own = {fold.carry, at.self_name, *target_names(fold.loop.target)}
    return tuple(name for name in reads(fold.update) if name in at.locals and name not in own)
