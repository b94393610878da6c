"""What evidence adds to an analysis: the layers that the source leaves open, as a case has built them."""

from collections.abc import Iterable, Set
from dataclasses import replace

from scanify.analysis.facts import Place
from scanify.analysis.plan import Analysis, Holds, Plan, Refusal


def with_evidence(found: Analysis, alike: Set[Place] = frozenset()) -> Analysis:
    """The same with plans for loops whose layers the source leaves open, for whoever has evidence of them.

    Those at the places `alike` are known to have layers that are equal but for arrays.
    """
    in_call = found.in_call
    return replace(
        found,
        loops=_planned(found.loops, alike),
        in_call=None if in_call is None else lambda: _planned(in_call(), frozenset()),
    )


def _planned(loops: Iterable[Plan | Refusal], alike: Set[Place]) -> tuple[Plan | Refusal, ...]:
    plans = ((loop.undecided or loop) if isinstance(loop, Refusal) else loop for loop in loops)
    return tuple(_as_alike(loop) if isinstance(loop, Plan) and loop.place in alike else loop for loop in plans)


def _as_alike(plan: Plan) -> Plan:
    return replace(plan, holds=Holds.ARRAY_STACKED, rule="SCN101" if plan.rule == "SCN102" else plan.rule)
