"""Lists that stay lists because other code may need them: their layers are stacked in the call."""

from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.plan import CallStack, Plan, Refusal

_WHY = "the list stays, and is stacked in each call, as no case runs the code that may need it"
_ACCEPT = "`--accept elsewhere` builds the list stacked all the same"


def with_lists(loops: Sequence[Plan | Refusal], in_call: Sequence[Plan | Refusal]) -> tuple[Plan | Refusal, ...]:
    """Replace plans for lists that other code may need by the plans in `in_call` for the same loops.

    A plan stays as it is if `in_call` has no plan that leaves the list alone, or one with obligations about other code.
    """
    others = {loop.place: loop for loop in in_call if isinstance(loop, Plan) and isinstance(loop.stack, CallStack)}
    return tuple(_kept(loop, others.get(loop.place)) for loop in loops)


def _kept(loop: Plan | Refusal, other: Plan | None) -> Plan | Refusal:
    if isinstance(loop, Refusal) or not loop.needs_list or other is None or other.elsewhere:
        return loop
    return replace(other, stack=CallStack(_WHY), notes=(*loop.elsewhere, _ACCEPT, *other.notes))
