"""`Sequential`s that loops walk: one that is nowhere called is a list, which is stacked for the loops over it.

self.blocks = eqx.nn.Sequential([Block(k) for k in keys])
for block in self.blocks: ...
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.lower.loop import Form, Order
from scanify.analysis.plan import CallStack, InitStack, Plan, Refusal
from scanify.analysis.values.heap import Cell, Does

Decided = Sequence[tuple[LoopFact, Plan | Refusal | None]]


def as_lists(decided: Decided) -> Decided:
    """The decisions, those about loops over `Sequential`s that are rewritten with these as the places of their stacks.

    None about a `Sequential` that is walked and nowhere called: by itself it computes nothing.
    """
    made: dict[ast.AST, Plan] = {
        fact.loop.node: decision
        for fact, decision in decided
        if fact.loop.form is Form.SEQUENTIAL and isinstance(decision, Plan)
    }
    walking = [(fact, decision) for fact, decision in decided if fact.layers.sequentials and not _makes(fact)]
    left = {
        node for fact, decision in walking for node in fact.layers.sequentials if not _can_move(fact, decision, made)
    }
    walked = {node for fact, _ in walking for node in fact.layers.sequentials}
    return list(_decisions(decided, made, walked, left)) if walked else decided


def _decisions(
    decided: Decided, made: Mapping[ast.AST, Plan], walked: set[ast.AST], left: set[ast.AST]
) -> Iterator[tuple[LoopFact, Plan | Refusal | None]]:
    for fact, decision in decided:
        nodes = fact.layers.sequentials
        if _makes(fact):
            yield fact, None if fact.loop.node in walked and not _is_called(fact) else decision
        elif isinstance(decision, Plan) and nodes and not left.intersection(nodes):
            yield fact, _stacked_there(decision, [made[node] for node in nodes])
        else:
            yield fact, decision


def _makes(fact: LoopFact) -> bool:
    return fact.loop.form is Form.SEQUENTIAL


def _can_move(fact: LoopFact, decision: Plan | Refusal | None, made: Mapping[ast.AST, Plan]) -> bool:
    """Whether a loop can walk the stack that all that it walks becomes: one that stays would take it apart."""
    whole = isinstance(decision, Plan) and isinstance(decision.stack, CallStack) and _is_whole(fact)
    return whole and all(node in made for node in fact.layers.sequentials)


def _is_called(fact: LoopFact) -> bool:
    """Whether something applies a `Sequential`; a walk goes over its list, and is no use of itself."""
    return any(use.does is Does.WALK for use in Cell(fact.loop.node, fact.loop.module, 0).uses)


def _is_whole(fact: LoopFact) -> bool:
    walk = fact.layers.walk
    return walk.order is Order.WHOLE and walk.numbers is None and len(walk.bases) == 1 and not fact.layers.view


def _stacked_there(plan: Plan, made: Sequence[Plan]) -> Plan:
    stacks = [each.stack for each in made if isinstance(each.stack, InitStack)]
    sites = tuple(dict.fromkeys(site for stack in stacks for site in stack.sites))
    annotations = tuple(dict.fromkeys(one for stack in stacks for one in stack.annotations))
    obligations = tuple(dict.fromkeys([*plan.obligations, *(one for each in made for one in each.obligations)]))
    elsewhere = tuple(dict.fromkeys([*plan.elsewhere, *(one for each in made for one in each.elsewhere)]))
    return replace(plan, stack=InitStack(sites, annotations), obligations=obligations, elsewhere=elsewhere)
