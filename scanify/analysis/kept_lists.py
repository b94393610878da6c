"""Lists that stay lists though a stack could take their place: their layers are stacked in the call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scanify.analysis.plan import CallStack, InitStack, Plan, Refusal

_NEEDED = "the list stays, and is stacked in each call, as no case runs the code that may need it"
_ACCEPT = "`--accept elsewhere` builds the list stacked all the same"


def needs_list(loop: Plan | Refusal) -> bool:
    """True if other code may need a list that would be built stacked."""
    return bool(_sites(loop)) and isinstance(loop, Plan) and bool(loop.elsewhere)


def lists_kept(
    loops: Sequence[Plan | Refusal], accept: Callable[[Plan], bool], *, elsewhere: bool
) -> Mapping[object, str]:
    """The places where lists are built that must stay lists, with the reason.

    A loop that is not accepted because of its cost keeps its list, which it would take apart in each call. With
    `elsewhere` so does other code that may need one.
    """
    kept: dict[object, str] = {}
    for loop in loops:
        if isinstance(loop, Plan) and loop.cost and not accept(loop):
            why = f"the list stays, and is stacked in each call, as another loop over it stays as it is ({loop.place})"
            kept.update(dict.fromkeys(_sites(loop), why))
    if elsewhere:
        kept.update({site: _NEEDED for loop in filter(needs_list, loops) for site in _sites(loop)})
    return kept


def with_lists(
    loops: Sequence[Plan | Refusal], in_call: Sequence[Plan | Refusal], kept: Mapping[object, str]
) -> tuple[Plan | Refusal, ...]:
    """Replace plans for lists that are `kept` by the plans in `in_call` for the same loops.

    A plan stays as it is if `in_call` has no plan that leaves the list alone, or one with obligations about other code.
    """
    others = {loop.place: loop for loop in in_call if isinstance(loop, Plan) and isinstance(loop.stack, CallStack)}
    return tuple(_in_call(loop, others.get(loop.place), kept) for loop in loops)


def _in_call(loop: Plan | Refusal, other: Plan | None, kept: Mapping[object, str]) -> Plan | Refusal:
    why = next((kept[site] for site in _sites(loop) if site in kept), None)
    if isinstance(loop, Refusal) or why is None or other is None or other.elsewhere:
        return loop
    said = (*loop.elsewhere, _ACCEPT) if why == _NEEDED else ()
    return replace(other, stack=CallStack(why), notes=(*said, *other.notes))


def _sites(loop: Plan | Refusal) -> Sequence[object]:
    return loop.stack.sites if isinstance(loop, Plan) and isinstance(loop.stack, InitStack) else ()
