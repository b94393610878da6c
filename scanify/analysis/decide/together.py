"""Decisions that depend on one another: loops inside of others, lists inside of lists, several loops over one list.

A list stays a list if another loop over it stays as it is, in whatever file: that loop would slice every layer out of
the stack whenever it runs.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scanify.analysis.decide.decide import constructs
from scanify.analysis.decide.fact import LoopFact
from scanify.analysis.decide.remedies import refused
from scanify.analysis.facts import Place
from scanify.analysis.index.project import Index
from scanify.analysis.lower.loop import Form
from scanify.analysis.plan import Holds, Plan, Refusal
from scanify.analysis.stack import Called, InitStack

_BELOW = frozenset({"equinox", "jax", "jaxtyping"})
_NOTHING_GAINED = ("SCN202", "SCN203", "SCN215")
Decided = Sequence[tuple[LoopFact, Plan | Refusal | None]]


def left_behind(decided: Decided, final: Sequence[Plan | Refusal]) -> Mapping[ast.AST, Place]:
    """The loops whose list would be stacked where it is built, each with a loop over it that stays as it is."""
    refused = {each.place for each in final if isinstance(each, Refusal)}
    stays: dict[object, Place] = {}
    for fact, decision in decided:
        if _stays(fact, decision, refused):
            for node in _lists(fact):
                stays.setdefault(node, fact.loop.place)
    planned = {each.place for each in final if isinstance(each, Plan) and _is_stacked(each)}
    found: dict[ast.AST, Place] = {}
    for fact, _ in decided:
        others = [stays[node] for node in _lists(fact) if node in stays]
        if others and fact.loop.place in planned:
            found[fact.loop.node] = others[0]
    return found


def _is_stacked(plan: Plan) -> bool:
    """Whether a plan stacks a list where it is built; a `Sequential` is no list."""
    return isinstance(plan.stack, InitStack) and not any(isinstance(site, Called) for site in plan.stack.sites)


def _stays(fact: LoopFact, decision: Plan | Refusal | None, refused: set[Place]) -> bool:
    """Whether a loop goes on walking its list whenever its function runs; what only builds a model runs once."""
    loop = fact.loop
    if loop.form is Form.SEQUENTIAL or constructs(loop) or fact.gain.refusal is not None:
        return False
    return loop.ignored or (decision is not None and loop.place in refused)


def _lists(fact: LoopFact) -> Iterator[object]:
    """What tells the lists whose elements a loop walks from others: the field that holds them, else what makes them."""
    layers = fact.layers
    if layers.owner is not None and layers.attribute is not None:
        yield layers.owner.node, layers.attribute
    else:
        yield from (made.node for made in layers.made)


def not_of_stacks(decided: Decided) -> Iterator[Plan | Refusal]:
    """A list whose elements are each a `Sequential` that becomes a stack stays: no loop is over what it was.

    A `Sequential` that a loop walks stays, too: the loop would take its stack apart.
    """
    walked = {made.node for fact, _ in decided if fact.layers.sequential for made in fact.layers.made}
    sequentials = {
        fact.loop.node: fact for fact, each in decided if fact.loop.form is Form.SEQUENTIAL and isinstance(each, Plan)
    }
    stacked = {node for node, fact in sequentials.items() if walked.isdisjoint(made.node for made in fact.layers.made)}
    for fact, each in decided:
        if fact.loop.node in sequentials and fact.loop.node not in stacked:
            continue
        inside = any(made.node in stacked for made in fact.layers.made)
        if isinstance(each, Plan) and inside:
            yield refused(each, "SCN212", "what it walks is built of a `Sequential` that is rewritten")
        elif each is not None:
            yield each


def in_line(index: Index, found: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """The decisions, each with regard to the others: loops inside of others, lists inside of lists, shared lists."""
    apart = list(_not_inside(found))
    stacks = [each.stack for each in apart if isinstance(each, Plan) and isinstance(each.stack, InitStack)]
    sites = [site.place for stack in stacks for site in stack.sites if not isinstance(site, Called)]
    for at, each in enumerate(apart):
        module = index.module_at(each.place.path)
        package = module.name.partition(".")[0] if module is not None else ""
        if package in _BELOW and (isinstance(each, Plan) or each.rule not in _NOTHING_GAINED):
            reason = f"the rewrite would import `scanify`, which imports `{package}` itself"
            apart[at] = refused(each, "SCN212", reason, "leave this loop as it is")
        elif isinstance(each, Plan) and each.folded and any(_meet(each.place, site) for site in sites):
            reason = "the loop stands where another list is built, which is stacked there"
            apart[at] = refused(each, "SCN212", reason)
    return list(_one_container(apart))


def _meet(one: Place, other: Place) -> bool:
    """True if two places overlap."""
    return one.path == other.path and one.span.start < other.span.end and other.span.start < one.span.end


def _not_inside(found: Sequence[Plan | Refusal]) -> Iterator[Plan | Refusal]:
    around: Place | None = None
    for each in found:
        if isinstance(each, Plan) and around is not None and _meet(each.place, around):
            remedy = "rewrite the outer loop first, then look at this one again"
            yield refused(each, "SCN212", "the loop stands inside another one that is rewritten", remedy)
            continue
        around = each.place if isinstance(each, Plan) else around
        yield each


def _one_container(found: Sequence[Plan | Refusal]) -> Iterator[Plan | Refusal]:
    """A list that two loops walk is held by one container: a `BlockSeq` where either loop needs it."""
    stacked = [each for each in found if isinstance(each, Plan) and isinstance(each.stack, InitStack)]
    lists = {site for each in stacked if each.holds is Holds.BLOCK_SEQ for site in each.stack.sites}  # type: ignore[union-attr]
    for each in found:
        common = each in stacked and not lists.isdisjoint(each.stack.sites)  # type: ignore[union-attr]
        yield replace(each, holds=Holds.BLOCK_SEQ) if common and isinstance(each, Plan) else each
