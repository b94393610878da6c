"""Lists that stay lists although a stack could replace them: their layers are stacked in the call."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from scanify.analysis.facts import Place
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.readers import readers_in_words
from scanify.analysis.stack import CallStack, InitStack

_STAYS = "the list stays and is stacked in each call, which copies its parameters, as"
_NEEDED = f"{_STAYS} other code may need it"


@dataclass(frozen=True)
class Kept:
    """The reason why a list stays a list. `by` is the loop that requires it; None if other code does."""

    why: str
    by: Place | None = None


def needs_list(loop: Plan | Refusal) -> bool:
    """True if other code may need the list that a plan would replace by a stack."""
    return bool(_sites(loop)) and isinstance(loop, Plan) and bool(loop.elsewhere)


def lists_kept(
    loops: Sequence[Plan | Refusal], accept: Callable[[Plan], bool], *, elsewhere: bool
) -> Mapping[object, Sequence[Kept]]:
    """Return the places that build lists which must stay lists, with the reasons.

    A loop that is not accepted because of its cost keeps its list: it would take a stack apart in each call. So does a
    loop that is not accepted only because of other code, and with `elsewhere` any loop whose list other code may need.
    """
    kept: defaultdict[object, list[Kept]] = defaultdict(list)
    for loop in loops:
        if isinstance(loop, Plan) and needs_list(loop):
            alone = set(loop.obligations) <= set(loop.elsewhere)
            if elsewhere or (alone and not accept(loop)):
                for site in _sites(loop):
                    kept[site].append(Kept(_NEEDED))
    for loop in loops:
        if isinstance(loop, Plan) and loop.cost and not accept(loop):
            why = f"{_STAYS} another loop over it stays as it is ({loop.place})"
            for site in _sites(loop):
                kept[site].append(Kept(why, loop.place))
    return kept


def with_lists(
    loops: Sequence[Plan | Refusal], in_call: Sequence[Plan | Refusal], kept: Mapping[object, Sequence[Kept]]
) -> tuple[Plan | Refusal, ...]:
    """Replace plans for lists that are `kept` by the plans in `in_call` for the same loops.

    A plan is unchanged if `in_call` has no plan that keeps the list, or only one with obligations about other code.
    """
    others = {loop.place: loop for loop in in_call if isinstance(loop, Plan) and isinstance(loop.stack, CallStack)}
    return tuple(_in_call(loop, others.get(loop.place), kept) for loop in loops)


def _in_call(loop: Plan | Refusal, other: Plan | None, kept: Mapping[object, Sequence[Kept]]) -> Plan | Refusal:
    reasons = (each for site in _sites(loop) for each in kept.get(site, ()))
    why = next((each.why for each in reasons if each.by != loop.place), None)
    if isinstance(loop, Refusal) or why is None or other is None or other.elsewhere:
        return loop
    if why == _NEEDED:
        places = readers_in_words(loop.readers)
        said = [places] if places else []
        said += [each.text for each in loop.elsewhere if not places or not each.text.startswith(places)]
        why = f"{why}: {'; '.join(said)}; `--accept elsewhere` builds it stacked all the same"
    return replace(other, stack=CallStack(why), readers=loop.readers)


def _sites(loop: Plan | Refusal) -> Sequence[object]:
    return loop.stack.sites if isinstance(loop, Plan) and isinstance(loop.stack, InitStack) else ()
