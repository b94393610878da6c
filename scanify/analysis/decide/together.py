"""Decisions that depend on one another: nested loops, and several loops over one list."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scanify.analysis.decide.decide import constructs
from scanify.analysis.decide.fact import LoopFact
from scanify.analysis.decide.remedies import refused
from scanify.analysis.facts import Place
from scanify.analysis.plan import Holds, Plan, Refusal
from scanify.analysis.stack import InitStack

_OUTER_FIRST = "rewrite the outer loop first, then look at this one again"


def left_behind(
    decided: Mapping[LoopFact, Plan | Refusal | None], final: Sequence[Plan | Refusal]
) -> dict[LoopFact, Place]:
    """Return the loops that would stack a list which another loop still iterates over, with the place of that loop.

    That loop would slice every layer out of the stack in each call. Loops in constructors run once and are ignored.
    """
    plans = {each.place: each for each in final if isinstance(each, Plan)}
    stays: dict[object, Place] = {}
    for fact, decision in decided.items():
        place = fact.loop.place
        stays_list = fact.loop.ignored or (decision is not None and place not in plans)
        if stays_list and fact.gain.refusal is None and not constructs(fact.loop):
            for node in _lists(fact):
                stays.setdefault(node, place)
    stacked = {place for place, plan in plans.items() if isinstance(plan.stack, InitStack)}
    others = {fact: [stays[node] for node in _lists(fact) if node in stays] for fact in decided}
    return {fact: places[0] for fact, places in others.items() if places and fact.loop.place in stacked}


def _lists(fact: LoopFact) -> list[object]:
    """Return the field that holds the layers of a loop, or else the expressions that make them."""
    layers = fact.layers
    if layers.owner is not None and layers.attribute is not None:
        return [(layers.owner.node, layers.attribute)]
    return [made.node for made in layers.made]


def in_line(found: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """Refuse plans for loops inside other planned loops, and unify containers. `found` is sorted by place."""
    return list(_one_container([*_apart(found)]))


def _apart(found: Sequence[Plan | Refusal]) -> Iterator[Plan | Refusal]:
    around: Place | None = None
    for each in found:
        if not isinstance(each, Plan):
            yield each
        elif around is not None and each.place.overlaps(around):
            yield refused(each, "SCN212", "the loop stands inside another one that is rewritten", _OUTER_FIRST)
        else:
            around = each.place
            yield each


def _one_container(found: Sequence[Plan | Refusal]) -> Iterator[Plan | Refusal]:
    """Use one container for a list that several loops share: a `BlockSeq` if any of them needs it."""
    seqs = [each.stack for each in found if isinstance(each, Plan) and each.holds is Holds.BLOCK_SEQ]
    sites = {site for stack in seqs if isinstance(stack, InitStack) for site in stack.sites}
    for each in found:
        common = isinstance(each, Plan) and isinstance(each.stack, InitStack) and sites & {*each.stack.sites}
        yield replace(each, holds=Holds.BLOCK_SEQ) if common and isinstance(each, Plan) else each
