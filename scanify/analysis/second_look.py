"""A second look at what is to be rewritten: plans held against what the interpreter of values sees in a project.

The interpreter follows values where the planner reads text: aliases, holders, closures, modules that a constructor is
given, classes that inherit, what a constructor makes of its arguments. Where it sees a reason against a plan, the loop
is refused, or the plan is unsafe until a case shows what the source does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.index.project import Index
from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.loops.stack import Refused, choose_stack, other_use
from scanify.analysis.plan import Holds, InitStack, Plan, Refusal
from scanify.analysis.planning.project import facts_of, one_container
from scanify.analysis.values.interpreter import Interpreter

_GAINS_NOTHING = frozenset({"SCN203", "SCN204"})
_UNCLEAR = frozenset({"SCN201", "SCN202"})
_REFUSES = _GAINS_NOTHING | {"SCN206", "SCN207"}


def second_look(index: Index, loops: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """The decisions, with plans refused or made unsafe where values speak against them."""
    plans = [loop for loop in loops if isinstance(loop, Plan)]
    if not plans:
        return list(loops)
    run = Interpreter(index)
    try:
        facts = {_key(fact): fact for fact in facts_of(run, _paths(plans))}
    except Exception as error:  # a fault in here must neither end the command nor let a plan pass unseen
        text = f"values could not be followed ({type(error).__name__}: {error}); please report this"
        return [
            replace(loop, obligations=(*loop.obligations, text)) if isinstance(loop, Plan) else loop for loop in loops
        ]
    held = [
        _held(run, loop, facts.get((loop.place.path, loop.place.span.line))) if isinstance(loop, Plan) else loop
        for loop in loops
    ]
    return list(one_container(held))


def _paths(plans: Iterable[Plan]) -> list[Path]:
    return list(dict.fromkeys(plan.place.path for plan in plans))


def _key(fact: LoopFact) -> tuple[Path, int]:
    return fact.loop.place.path, fact.loop.place.span.line


def _held(run: Interpreter, plan: Plan, fact: LoopFact | None) -> Plan | Refusal:
    if fact is None:
        return plan
    reasons = [*fact.problems, *([fact.layers.refusal] if fact.layers.refusal is not None else [])]
    for rule, reason, place in reasons:
        if rule in (_GAINS_NOTHING if plan.obligations else _REFUSES):
            given = (plan.kind, plan.container, plan.carry, plan.xs, plan.broadcast, plan.ys)
            return Refusal(plan.place, rule, reason, *given, at=place)
    unlike = fact.layers.unlike is not None and not fact.layers.given
    if plan.holds is Holds.ARRAY_STACKED and unlike and plan.loops:
        rule = "SCN102" if plan.rule == "SCN101" else plan.rule
        plan = replace(plan, holds=Holds.BLOCK_SEQ, rule=rule)
    if plan.obligations:
        return plan  # it takes a case in any event
    more = list(fact.body.obligations)
    doubts = [(text, at) for rule, text, at in reasons if rule in _UNCLEAR and not fact.layers.given]
    if not doubts and not fact.layers.known and not fact.layers.given:
        doubts = [(f"cannot tell which class the layers have: {fact.layers.hidden}", None)]
    more += [f"{reason} ({place})" if place is not None else reason for reason, place in doubts]
    if isinstance(plan.stack, InitStack):
        use = other_use(run, fact.layers)
        stack = choose_stack(run, fact.loop, fact.layers, "init", frozenset(run.index.paths))
        if use is not None:
            more.append(f"no other code needs the list itself: {use[0]} ({use[1]}); `--stack call` leaves it as it is")
        elif isinstance(stack, Refused) and plan.loops:
            more.append(f"{stack.reason} ({stack.place})" if stack.place is not None else stack.reason)
    return replace(plan, obligations=tuple(more)) if more else plan
