"""All loops over a list together: one that is stacked where it is built leaves no loop that takes the stack apart.

A list stays a list where another loop over it stays as it is, in whatever file: that loop would slice every layer out
of the stack whenever it runs.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.facts import Place
from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.lower.loop import Form
from scanify.analysis.plan import Called, InitStack, Plan, Refusal
from scanify.analysis.planning.decide import constructs
from scanify.analysis.values.heap import DictCell, ListCell

Decided = Sequence[tuple[LoopFact, Plan | Refusal | None]]


def left_behind(decided: Decided, final: Sequence[Plan | Refusal]) -> Mapping[ast.AST, Place]:
    """The loops whose list would be stacked where it is built, each with a loop over it that stays as it is."""
    refused = {_key(each.place) for each in final if isinstance(each, Refusal)}
    stays: dict[ast.AST, Place] = {}
    for fact, decision in decided:
        if _stays(fact, decision, refused):
            for node in _lists(fact):
                stays.setdefault(node, fact.loop.place)
    planned = {_key(each.place) for each in final if isinstance(each, Plan) and _is_stacked(each)}
    found: dict[ast.AST, Place] = {}
    for fact, _ in decided:
        others = [stays[node] for node in _lists(fact) if node in stays]
        if others and _key(fact.loop.place) in planned:
            found[fact.loop.node] = others[0]
    return found


def _key(place: Place) -> tuple[object, int, int]:
    return place.path, place.span.start, place.span.end


def _is_stacked(plan: Plan) -> bool:
    """Whether a plan stacks a list where it is built; a `Sequential` is no list."""
    return isinstance(plan.stack, InitStack) and not any(isinstance(site, Called) for site in plan.stack.sites)


def _stays(fact: LoopFact, decision: Plan | Refusal | None, refused: set[tuple[object, int, int]]) -> bool:
    """Whether a loop goes on walking its list whenever its function runs; what only builds a model runs once."""
    loop = fact.loop
    if loop.form is Form.SEQUENTIAL or constructs(loop) or fact.layers.few is not None:
        return False
    return loop.ignored or (decision is not None and _key(loop.place) in refused)


def _lists(fact: LoopFact) -> Iterator[ast.AST]:
    """The expressions that make the lists whose elements a loop walks."""
    for cell in fact.layers.cells:
        source: ListCell | DictCell = cell
        while isinstance(source, ListCell) and source.copied is not None:
            source = source.copied
        yield source.node
