"""Compare plans that stack a list where it is built with the code that reads leaves of trees."""

import re
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.index import Index
from scanify.analysis.obligation import Kind, Obligation, each_once
from scanify.analysis.plan import Framework, Holds, Plan, Refusal
from scanify.analysis.readers import PATH, RANK, Reader, readers_in_words
from scanify.analysis.stack import InitStack
from scanify.analysis.watchers.find import given_models, program_readers, watchers
from scanify.analysis.watchers.library import OPTIMISERS
from scanify.analysis.watchers.trees import NAMED_PARTS

_NAME = re.compile(r"[^\W\d]\w*")
_FIELD = re.compile(r"[^\W\d][\w.]*\.([^\W\d]\w*)")


def with_watchers(loops: Sequence[Plan | Refusal], index: Index) -> tuple[Plan | Refusal, ...]:
    """Return the decisions; plans that change leaves get one obligation that lists the code reading them.

    Where the list stays, layers may differ if other code does more than read them.
    """
    plans = [one for one in loops if isinstance(one, Plan)]
    if not plans:
        return tuple(loops)
    watched = [one for one in plans if isinstance(one.stack, InitStack) or one.holds is Holds.ARRAY_STACKED]
    found = list(watchers(index)) if watched else []
    if watched and all(each.reads == NAMED_PARTS for each in found):
        found += given_models(index, watched[0].place, set(map(_field, watched)))
    programs = _of_programs(program_readers(index))
    return tuple(_with(_watched(one, found), programs) if isinstance(one, Plan) else one for one in loops)


def _field(one: Plan) -> str:
    """Return the name under which the layers are held."""
    names: list[str] = _NAME.findall(one.container)
    return names[-1] if names else ""


def _with(one: Plan, programs: tuple[Obligation, ...]) -> Plan:
    """Add the obligations about readers, and about code that reads programs."""
    return replace(one, obligations=each_once((*one.obligations, *programs, *_said(one.readers))))


def _of_programs(readers: Sequence[Reader]) -> tuple[Obligation, ...]:
    """Return the obligation about code that reads programs: a scan changes them, wherever its layers are stacked."""
    text = f"{readers_in_words(readers)}, in which a scan counts once"
    return (Obligation(Kind.COST, text, readers[0].place),) if readers else ()


def _watched(one: Plan, found: Sequence[Reader]) -> Plan:
    """Add the readers of a plan's leaves to it."""
    seen = [each for each in found if each.reads != NAMED_PARTS]
    if isinstance(one.stack, InitStack):
        return replace(one, notes=(*one.notes, checkpoints(one)), readers=tuple(seen))
    seen += [each for each in found if each.reads == NAMED_PARTS and _field(one) in each.attributes]
    alike = one.framework is not Framework.EQUINOX or all(each.leaves_alike for each in seen)
    if alike or one.trees or one.holds is Holds.BLOCK_SEQ:
        return one
    rule = "SCN102" if one.rule == "SCN101" else one.rule
    return replace(one, holds=Holds.BLOCK_SEQ, equal_layers=False, rule=rule)


def checkpoints(plan: Plan) -> str:
    """Return a note on how building a list stacked affects checkpoints, and on the command that converts them."""
    field = _FIELD.fullmatch(plan.container)
    prefix = f"'*{field[1]}'" if field is not None else "PREFIX"
    if plan.holds is Holds.BLOCK_SEQ:
        return (
            "parameters of layers that are alike become one array with a new first axis, so checkpoints saved before "
            "do not load: `scanify convert OLD NEW --like FILE:FUNCTION` makes new ones"
        )
    return (
        "each parameter of the layers becomes one array with a new first axis, so checkpoints saved before do not "
        f"load: `scanify convert OLD NEW --stack {prefix} --axis 0` makes new ones (--axis 1 in an "
        "ensemble, --like for Equinox's)"
    )


def _said(readers: Sequence[Reader]) -> tuple[Obligation, ...]:
    """Return one obligation about all readers."""
    instead = "".join(dict.fromkeys(map(_instead, readers)))
    change = "that changes where layers are stacked when they are built; `--stack call` leaves the parameters"
    text = f"{readers_in_words(readers)}: {change} as they are{instead}"
    return (Obligation(Kind.ELSEWHERE, text, readers[0].place),) if readers else ()


def _instead(reader: Reader) -> str:
    """Return advice on making an optimiser, or a mask for one, see the layers of a stack as a list."""
    if reader.rule == RANK:
        return ", and scanify.optim has weight_decay_mask, a mask by the rank in a layer, and per_layer for optimizers"
    if reader.rule == PATH:
        return ", and scanify.optim.label_tree labels a stack as the list of its layers"
    if reader.reads in OPTIMISERS:
        return ", and scanify.optim.per_layer(optimizer) sees each layer by itself"
    return ""
