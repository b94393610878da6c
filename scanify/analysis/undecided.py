"""Plans for loops whose layers the source leaves open, about which a case may decide."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from scanify.analysis.facts import Place
from scanify.analysis.plan import Analysis, Plan, Refusal
from scanify.analysis.stack import InitStack


def with_undecided(
    found: Analysis, wanted: Callable[[Place], bool], accept: Callable[[Plan], bool] = lambda plan: True
) -> Analysis:
    """Add plans for loops whose layers the source leaves open, at the `wanted` places.

    Of two nested loops, the one whose plan is accepted gets its plan; the outer one if both are accepted.
    """
    in_call, loops = found.in_call, _planned(found.loops, wanted, accept)
    return replace(found, loops=loops, in_call=None if in_call is None else lambda: _planned(in_call(), wanted, accept))


def _planned(
    loops: Sequence[Plan | Refusal], wanted: Callable[[Place], bool], accept: Callable[[Plan], bool]
) -> tuple[Plan | Refusal, ...]:
    """Replace loops that are left open by their plans, unless another plan changes the same text."""
    plans = [loop for loop in loops if isinstance(loop, Plan)]
    left_open = [loop.undecided for loop in loops if isinstance(loop, Refusal) and wanted(loop.place)]
    chosen: dict[Place, Plan] = {}
    for plan in sorted((plan for plan in left_open if plan is not None), key=lambda plan: not accept(plan)):
        if not any(_overlap(plan, other) for other in plans):
            plans.append(plan)
            chosen[plan.place] = plan
    return tuple(chosen.get(loop.place, loop) if isinstance(loop, Refusal) else loop for loop in loops)


def _overlap(one: Plan, other: Plan) -> bool:
    """True if one plan's loop overlaps the other's loop, or the code that builds the other's list."""
    pairs = [(one.place, other.place)]
    pairs += [(one.place, site) for site in _sites(other)] + [(other.place, site) for site in _sites(one)]
    return any(first.overlaps(second) for first, second in pairs)


def _sites(plan: Plan) -> list[Place]:
    stack = plan.stack
    return [site.place for site in stack.sites] if isinstance(stack, InitStack) else []
