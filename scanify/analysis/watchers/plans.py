"""Plans that stack a list where it is built, against what the project does with the leaves of trees."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scanify.analysis.index import Index
from scanify.analysis.obligation import Kind, Obligation, each_once
from scanify.analysis.plan import Framework, Holds, Plan, Refusal
from scanify.analysis.readers import Reader, leaves_alike, readers_in_words
from scanify.analysis.stack import Called, CallStack, InitStack, Named
from scanify.analysis.watchers.find import watchers
from scanify.analysis.watchers.follow.calls import SHOWN
from scanify.analysis.watchers.follow.find import given_models
from scanify.analysis.watchers.programs import program_readers
from scanify.analysis.watchers.rules import PATH, RANK
from scanify.analysis.watchers.tables import OPTAX_PER_LEAF, PER_LEAF_PACKAGES
from scanify.analysis.watchers.watcher import Watcher

_NAME = re.compile(r"[^\W\d]\w*")
OPTIMISERS = frozenset((*OPTAX_PER_LEAF.values(), *PER_LEAF_PACKAGES.values()))
_FIELD = re.compile(r"[^\W\d][\w.]*\.([^\W\d]\w*)")


def with_watchers(loops: Sequence[Plan | Refusal], index: Index) -> tuple[Plan | Refusal, ...]:
    """The decisions, with what the project reads of leaves as an obligation of the plans that change the leaves.

    Layers in a list that stays may be unlike if it does more than to read them.

    Where a list is kept for the sake of code that reads its leaves, the rule for what it reads is said with it.
    """
    if not any(isinstance(one, Plan) for one in loops):
        return tuple(loops)
    found = watchers(index) if any(map(_may_be_watched, loops)) else ()
    found = (*found, *_given(loops, index, found))
    programs = _of_programs(program_readers(index))
    return _of_shared_lists([_watched(_kept(one, found), found) for one in loops], programs)


def _may_be_watched(one: Plan | Refusal) -> bool:
    """Whether code that looks at leaves matters to a decision: it changes them, or keeps a list for a use of it."""
    if isinstance(one, Refusal):
        return False
    kept = isinstance(one.stack, CallStack) and one.stack.at is not None and not one.stack.rule
    return kept or isinstance(one.stack, InitStack) or one.holds is Holds.ARRAY_STACKED


def _of_shared_lists(loops: Sequence[Plan | Refusal], programs: tuple[Obligation, ...]) -> tuple[Plan | Refusal, ...]:
    """The decisions, where all loops over one list have the obligations about other code that one of them has.

    One loop may walk the list under a name of its own, by which a reader of the field is not recognised.
    """
    plans = [one for one in loops if isinstance(one, Plan)]
    return tuple(
        _obliged(one, [each for each in plans if each is one or _sites(each) & _sites(one)], programs)
        if isinstance(one, Plan)
        else one
        for one in loops
    )


def _sites(one: Plan) -> frozenset[object]:
    return frozenset(one.stack.sites) if isinstance(one.stack, InitStack) else frozenset()


def _obliged(one: Plan, sharing: Iterable[Plan], programs: tuple[Obligation, ...]) -> Plan:
    """A plan with the readers and other obligations about other code of all plans that are `sharing` its list."""
    sharing = list(sharing)
    readers = tuple(dict.fromkeys(reader for each in sharing for reader in each.readers))
    said = [*(text for each in sharing for text in each.elsewhere), *_said(readers)]
    return replace(one, readers=readers, obligations=each_once((*one.obligations, *programs, *said)))


def _given(loops: Sequence[Plan | Refusal], index: Index, found: Sequence[Watcher]) -> list[Watcher]:
    """The calls that are given the models of plans that change them, if nothing else makes these plans unsafe."""
    plans = [one for one in loops if isinstance(one, Plan)]
    plans = [one for one in plans if isinstance(one.stack, InitStack) or one.holds is Holds.ARRAY_STACKED]
    plans = [one for one in plans if not _seen(one, found)]
    if not plans:
        return []
    sites = (site for one in plans if isinstance(one.stack, InitStack) for site in one.stack.sites)
    places = [*(one.place for one in plans), *(site.place for site in sites)]
    return given_models(index, places, {(_NAME.findall(one.container) or [""])[-1] for one in plans})


def _seen(one: Plan, found: Iterable[Watcher]) -> list[Watcher]:
    """The watchers that may look at the layers of a plan."""
    name = (_NAME.findall(one.container) or [""])[-1]
    return [each for each in found if each.attributes is None or name in each.attributes]


def _of_programs(readers: Sequence[Watcher]) -> tuple[Obligation, ...]:
    """The obligation about code that reads programs: a scan is another one, wherever its layers are stacked."""
    text = f"{readers_in_words(list(map(_reader, readers)))}, in which a scan counts once"
    return (Obligation(Kind.COST, text, readers[0].place),) if readers else ()


def _reader(watcher: Watcher) -> Reader:
    return Reader(watcher.place, watcher.reads, watcher.rule)


def _kept(one: Plan | Refusal, found: Iterable[Watcher]) -> Plan | Refusal:
    """A plan that keeps its list for a use in which leaves are read, with the rule for that."""
    if isinstance(one, Refusal) or not isinstance(one.stack, CallStack) or one.stack.at is None or one.stack.rule:
        return one
    path, line = one.stack.at.path, one.stack.at.span.line
    rules = (each.rule for each in found if (each.place.path, each.place.span.line) == (path, line))
    stack = replace(one.stack, rule=next(rules, ""))
    notes = (stack.kept if note == one.stack.kept and stack.kept is not None else note for note in one.notes)
    return replace(one, stack=stack, notes=tuple(notes))


def checkpoints(plan: Plan) -> str:
    """What becomes of checkpoints where a list is built stacked, and what makes new ones of them."""
    field = _FIELD.fullmatch(plan.container)
    prefix = f"'*{field[1]}'" if field is not None else "PREFIX"
    sites = plan.stack.sites if isinstance(plan.stack, InitStack) else ()
    if any(isinstance(site, Called) for site in sites):
        prefix = "PREFIX.layers=PREFIX"  # an `equinox.nn.Sequential` has its layers in a field
    if field is not None and any(isinstance(site, Named) for site in sites):
        prefix = f"'*{field[1]}.blocks=*{field[1]}.stacked'"  # and so has a `haliax.nn.BlockSeq`
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


def _watched(one: Plan | Refusal, found: Iterable[Watcher]) -> Plan | Refusal:
    if isinstance(one, Refusal):
        return one
    seen = _seen(one, found)
    if isinstance(one.stack, CallStack):
        alike = one.framework is not Framework.EQUINOX or all(
            each.reads == SHOWN or leaves_alike(each.reads) for each in seen
        )
        return one if alike or one.trees or one.holds is Holds.BLOCK_SEQ else _of_unlike(one)
    shown = [each for each in seen if each.reads == SHOWN]
    seen = [each for each in seen if each.reads != SHOWN]
    lines = {(each.place.path, each.place.span.line) for each in seen if not each.given}
    seen = [each for each in seen if not each.given or (each.place.path, each.place.span.line) not in lines]
    texts = [f"the text of the model that {each.place} shows has the stack in it" for each in shown[:1]]
    readers = tuple(map(_reader, seen))
    return replace(one, notes=(*one.notes, checkpoints(one), *texts), readers=readers)


def _of_unlike(one: Plan) -> Plan:
    """A plan for layers in a list that other code may make unlike."""
    rule = "SCN102" if one.rule == "SCN101" else one.rule
    return replace(one, holds=Holds.BLOCK_SEQ, equal_layers=False, rule=rule)


def _said(readers: Sequence[Reader]) -> tuple[Obligation, ...]:
    """The one obligation about all readers."""
    instead = "".join(dict.fromkeys(map(_instead, readers)))
    change = "that changes where layers are stacked when they are built; `--stack call` leaves the parameters"
    text = f"{readers_in_words(readers)}: {change} as they are{instead}"
    return (Obligation(Kind.ELSEWHERE, text, readers[0].place),) if readers else ()


def _instead(reader: Reader) -> str:
    """What shows an optimiser, or a mask for one, the layers of a stack as those of a list."""
    if reader.rule == RANK:
        return ", and scanify.optim has weight_decay_mask, a mask by the rank in a layer, and per_layer for optimizers"
    if reader.rule == PATH:
        return ", and scanify.optim.label_tree labels a stack as the list of its layers"
    if reader.reads in OPTIMISERS:
        return ", and scanify.optim.per_layer(optimizer) sees each layer by itself"
    return ""
