"""Fit plans to a target, which may refuse them with its own reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.decide.remedies import refused
from scanify.analysis.facts import Place
from scanify.analysis.obligation import Kind, Obligation, each_once
from scanify.analysis.plan import BEYOND_THE_TARGET, Holds, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack
from scanify.emit.policy import policy_expression
from scanify.emit.target import Target
from scanify.emit.targets.every import SCANIFY, TARGETS
from scanify.emit.targets.pieces import counted

Loops = Sequence[Plan | Refusal]


def fitted(
    loops: Loops, texts: Mapping[Path, str], target: str, remat: str | None, in_call: Callable[[], Loops] | None
) -> tuple[Plan | Refusal, ...]:
    """Return each loop as the target can express it.

    If the target cannot build the list stacked, `in_call` finds the plans that leave the list unchanged; None if it
    must be built stacked. A list is built stacked for all of its loops or for none, so this repeats until all agree.
    """
    emitter, policy = TARGETS[target], policy_expression(remat)
    others: dict[Place, Plan | Refusal] = {}

    def left_as_it_is(plan: Plan, otherwise: Refusal, why: str) -> Plan | Refusal:
        if in_call is None or not isinstance(plan.stack, InitStack):
            return otherwise
        if not others:
            others.update({one.place: one for one in in_call()})
        return _in_call(others.get(plan.place), otherwise, why, policy, emitter)

    fits = [_said(_nested(loop, policy)) for loop in loops]
    for at, loop in enumerate(loops):
        if isinstance(loop, Plan) and (reason := emitter.refusal(loop, policy)) is not None:
            fits[at] = left_as_it_is(loop, refused(loop, BEYOND_THE_TARGET, reason, _remedy(loop)), _ALONE)
    while True:
        plans = [one for one in fits if isinstance(one, Plan)]
        why = {one.place: found for one in plans if (found := _unstackable(one, plans, loops, texts, emitter))}
        if not why:
            return tuple(fits)
        for at, one in enumerate(fits):
            if isinstance(one, Plan) and one.place in why:
                reason = f"a stack of the target {target} is no list, and {why[one.place]}"
                fits[at] = left_as_it_is(one, refused(one, BEYOND_THE_TARGET, reason, _STACK_IN_CALL), reason)


def of_framework(loops: Loops, target: str) -> tuple[Plan | Refusal, ...]:
    """Refuse the plans over modules of another framework than the target's."""
    own = TARGETS[target].FRAMEWORK
    return tuple(
        _of_other_framework(loop, target, own.value) if isinstance(loop, Plan) and loop.framework is not own else loop
        for loop in loops
    )


def _of_other_framework(plan: Plan, target: str, own: str) -> Refusal:
    other = next(name for name, emitter in TARGETS.items() if emitter.FRAMEWORK is plan.framework)
    reason = f"the target {target} is for modules of {own}, and these are of {plan.framework.value}"
    return refused(plan, BEYOND_THE_TARGET, reason, f"`scanify rewrite --target {other}` is for such a loop")


_OTHER_TARGET = "the target scanify can express this loop"
_KEEP = "keep the loop"
_STACK_IN_CALL = "stack the layers in the call (--stack call), which leaves the list as it is"
_ALONE = "by itself this loop can be expressed, and not together with all that is done with the list"


def _remedy(plan: Plan) -> str:
    return _KEEP if plan.trees or TARGETS[SCANIFY].FRAMEWORK is not plan.framework else _OTHER_TARGET


def _unstackable(
    plan: Plan, plans: Sequence[Plan], loops: Loops, texts: Mapping[Path, str], emitter: Target
) -> str | None:
    """Return why the list of a plan cannot be built stacked; None if it can, or if it is to be stacked in the call."""
    if not isinstance(plan.stack, InitStack):
        return None
    if _left_alone(plan, loops, plans):
        return "another loop over it stays a loop"
    return emitter.unstackable(plan, plans, texts)


def _left_alone(plan: Plan, loops: Loops, plans: Sequence[Plan]) -> bool:
    """True if a loop over the same list would not be rewritten, or not with the list built stacked."""
    together = [one for one in loops if isinstance(one, Plan) and sites(one) & sites(plan)]
    return any(not any(one.place == each.place and sites(one) for one in plans) for each in together)


def sites(plan: Plan) -> set[Place]:
    """Return the places where the list of a plan is built stacked."""
    return {site.place for site in plan.stack.sites} if isinstance(plan.stack, InitStack) else set()


def _in_call(
    other: Plan | Refusal | None, otherwise: Refusal, why: str, policy: str | None, emitter: Target
) -> Plan | Refusal:
    """Return the plan that leaves the list unchanged, with the reason; a refusal if there is none."""
    if (
        not isinstance(other, Plan)
        or not isinstance(other.stack, CallStack)
        or emitter.refusal(other, policy) is not None
    ):
        return otherwise
    return _said(replace(other, stack=replace(other.stack, reason=why)))


def _nested(loop: Plan | Refusal, policy: str | None) -> Plan | Refusal:
    """Give the variables of a plan over Linen modules two axes of layers if the policy is nested."""
    if policy != '"nested"' or isinstance(loop, Refusal) or loop.linen is None:
        return loop
    return replace(loop, linen=replace(loop.linen, renamed=replace(loop.linen.renamed, nested=True)))


def _said(loop: Plan | Refusal) -> Plan | Refusal:
    """Add obligations to a plan for checks that our own containers make at run time."""
    if isinstance(loop, Refusal) or loop.holds is Holds.ARRAY_STACKED:
        return loop
    said = list(loop.bodies.doubts)
    if loop.bodies.unlike is not None:
        said.append(f"one body fits all layers in `{loop.container}`, though {loop.bodies.unlike}")
    elif not loop.equal_layers and not loop.trees:
        said.append(f"the layers in `{loop.container}` differ in the values of their arrays alone")
    said += [
        f"no `if` asks `{number}`, the number of the layer, which is an array in a scan" for number in counted(loop)
    ]
    more = [Obligation(Kind.LAYERS, text, loop.place) for text in said]
    return replace(loop, obligations=each_once((*loop.obligations, *more)))
