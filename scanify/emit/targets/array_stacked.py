"""The target `scanify`: loops become calls of `scanify.nn.ArrayStacked`, or of `BlockSeq` if layers differ."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scanify.analysis.plan import Framework, Holds, Plan
from scanify.analysis.stack import CallStack, OneTrace
from scanify.emit.edits import Edit
from scanify.emit.loops.commented import with_comments
from scanify.emit.loops.layer_call import arguments_stand_alone, fold_call, in_axes
from scanify.emit.loops.local_function import call_of_local_function, scope_start
from scanify.emit.loops.sites import Stacking, site_edits
from scanify.emit.names.imports import Import
from scanify.emit.target import Context, Helper
from scanify.emit.text import layout
from scanify.emit.text.loop_text import LoopText, loop_text
from scanify.emit.text.map_text import arguments_of, in_its_place
from scanify.errors import CheckFailed

FRAMEWORK = Framework.EQUINOX
HELPERS: Mapping[str, Helper] = {}
POLICY_AT_RUN_TIME = True


def refusal(plan: Plan, remat: str | None) -> None:
    """Return None: plans are made for this target, so it can express them all."""


def unstackable(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> None:
    """Return None: a stack of this target is a sequence of layers, so other uses of the list still work."""


def needed(plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
    """Return the files that name a container: the loop's own, or those that build and annotate the list."""
    name = Import("scanify.nn", plan.holds.value)
    if isinstance(plan.stack, CallStack):
        return frozenset({(plan.place.path, name)})
    return frozenset((item.place.path, name) for item in (*plan.stack.sites, *plan.stack.annotations))


def edits(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return the edits of all plans, without imports. Raises CheckFailed for a plan that this target cannot express."""
    made: list[Edit] = []
    given: dict[tuple[Path, int], set[str]] = {}  # the names already given to local functions, by scope
    for plan in plans:
        collects = plan.ys == tuple(one.name for one in plan.collections)
        if plan.mapped is None and not (collects and (plan.carry or plan.collections)):
            raise CheckFailed(
                f"{plan.place}: expected a fold for the target scanify, got a {plan.kind.value}"
                f"{'' if collects else ' that collects outputs'}; nothing was written; please report this"
            )
        scope = scope_start(context.texts[plan.place.path], plan.place.span.start)
        given_here = given.setdefault((plan.place.path, scope), set())
        if plan.mapped is not None:
            made.append(_map_edit(plan, context))
        else:
            made += _loop_edits(plan, context, given_here)
        made += site_edits(plan, context, _stacking(plan, context))
    return made


def _loop_edits(plan: Plan, context: Context, given: set[str]) -> list[Edit]:
    path = plan.place.path
    loop = loop_text(plan, context.texts[path], context.houses[path])
    stack = _stack(plan, context, _policy(context) if plan.carry else [])  # maps are not rematerialised
    statement = _one_call(plan, stack, loop) if plan.carry else None
    if statement is not None:
        return [Edit(path, loop.start, loop.end, with_comments(statement, loop))]
    return call_of_local_function(plan, stack, loop, context.texts[path], given)


def _stack(plan: Plan, context: Context, policy: list[str]) -> str:
    if isinstance(plan.stack, CallStack):
        return f"{context.names[plan.place.path][plan.holds.value]}.of({', '.join([plan.container, *policy])})"
    taken = f".take({plan.numbers})" if plan.numbers is not None else ""
    return layout.attribute_of(plan.container) + taken


def _map_edit(plan: Plan, context: Context) -> Edit:
    """Replace independent layers: a call instead of a comprehension, or `extend` for a loop that appends."""
    path, call = plan.place.path, plan.call
    named = call is not None and call.owner is not None and arguments_stand_alone(plan, call)
    function, axes = (f"{call.owner}.{call.method}", in_axes(call)) if call is not None and named else ("", None)
    first, second = arguments_of(plan, function, axes, context.texts[path])
    head = f"{_stack(plan, context, [])}.map_via"  # nothing is rematerialised
    assert plan.mapped is not None
    if plan.mapped.appends_to is None:
        return in_its_place(plan, head, first, second, context)
    loop = loop_text(plan, context.texts[path], context.houses[path])
    statement = layout.curried(f"{plan.mapped.appends_to}.extend({head}", first, second, loop.style, ")")
    return Edit(path, loop.start, loop.end, with_comments(statement, loop))


def _one_call(plan: Plan, stack: str, loop: LoopText) -> str | None:
    """Write the loop as one statement if its body is one call of the layer and each xs is an argument; else None."""
    known = fold_call(plan, plan.carry[0])
    if known is None:
        return None
    method, first, second = known
    head = f"{plan.carry[0]} = {stack}.{method}"
    return layout.call(head, first, loop.style) if second is None else layout.curried(head, first, second, loop.style)


def _policy(context: Context) -> list[str]:
    return [] if context.remat is None else [f"gradient_checkpointing={context.remat}"]


def elsewhere(plans: Sequence[Plan], context: Context) -> list[Edit]:
    """Return no edits: a stack is a sequence of layers, so other uses stay."""
    return []


def _stacking(plan: Plan, context: Context) -> Callable[[Path], Stacking]:
    """Write `ArrayStacked.of(layers)`, and `ArrayStacked.init(n, Block)(...)` if one call builds them all."""

    def stacking(path: Path) -> Stacking:
        name, policy = context.names[path][plan.holds.value], _policy(context)

        def built(one: OneTrace) -> tuple[str, list[str]]:
            return f"{name}.init", [one.count, one.module, *policy, *(['in_axes="keys"'] if one.keys_alone else [])]

        def annotation(element: str | None) -> str:
            return name if element is None else f"{name}[{element}]"

        return Stacking(f"{name}.of", tuple(policy), annotation, built if plan.holds is Holds.ARRAY_STACKED else None)

    return stacking
