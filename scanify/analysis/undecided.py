"""The plans for loops whose layers the source leaves open, which a case may decide."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from scanify.analysis.facts import Place
from scanify.analysis.plan import Analysis, Plan, Refusal
from scanify.analysis.stack import Called, InitStack


def with_undecided(found: Analysis, wanted: Callable[[Place], bool]) -> Analysis:
    """The same with plans for loops whose layers the source leaves open, at the places that there is evidence of."""
    in_call, loops = found.in_call, _planned(found.loops, wanted)
    return replace(found, loops=loops, in_call=None if in_call is None else lambda: _planned(in_call(), wanted))


def _planned(loops: Iterable[Plan | Refusal], wanted: Callable[[Place], bool]) -> tuple[Plan | Refusal, ...]:
    """The loops with those that are left open as plans, unless another plan changes the same text."""
    found = list(loops)
    plans = [loop for loop in found if isinstance(loop, Plan)]
    for at, loop in enumerate(found):
        undecided = loop.undecided if isinstance(loop, Refusal) and wanted(loop.place) else None
        if undecided is not None and not any(_overlap(undecided, plan) for plan in plans):
            plans.append(undecided)
            found[at] = undecided
    return tuple(found)


def _overlap(one: Plan, other: Plan) -> bool:
    """True if a loop of one plan is inside of the other's, or where the other builds its list."""
    pairs = [(one.place, other.place)]
    pairs += [(one.place, site) for site in _sites(other)] + [(other.place, site) for site in _sites(one)]
    return any(a.path == b.path and a.span.start < b.span.end and b.span.start < a.span.end for a, b in pairs)


def _sites(plan: Plan) -> list[Place]:
    stack = plan.stack
    return [] if not isinstance(stack, InitStack) else [s.place for s in stack.sites if not isinstance(s, Called)]
