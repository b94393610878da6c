"""Plans that stack a list where it is built, against what the project does with the leaves of trees."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scanify.analysis.facts import Place
from scanify.analysis.index import Index
from scanify.analysis.plan import InitStack, Plan, Refusal
from scanify.analysis.watchers.find import watchers
from scanify.analysis.watchers.held import may_hold
from scanify.analysis.watchers.watcher import Watcher

_NAME = re.compile(r"[^\W\d]\w*")
_SHOWN = 3
CHECKPOINTS = (
    "each parameter of the layers becomes one array with a new first axis, so checkpoints saved before do not load"
)


def with_watchers(loops: Sequence[Plan | Refusal], index: Index) -> tuple[Plan | Refusal, ...]:
    """The decisions, with what the project reads of leaves as obligations of the plans that change the leaves."""
    if not any(isinstance(one, Plan) and isinstance(one.stack, InitStack) for one in loops):
        return tuple(loops)
    found = watchers(index)
    return tuple(_watched(one, found, index) for one in loops)


def _watched(one: Plan | Refusal, found: Iterable[Watcher], index: Index) -> Plan | Refusal:
    if isinstance(one, Refusal) or not isinstance(one.stack, InitStack):
        return one
    places = [site.place for site in one.stack.sites]
    name = (_NAME.findall(one.container) or [""])[-1]
    seen = [each for each in found if _sees(each, index, places, name)]
    if not seen:
        return replace(one, notes=(*one.notes, CHECKPOINTS))
    said = tuple(map(_said, seen[:_SHOWN]))
    if len(seen) > _SHOWN:
        said = (*said[:-1], f"{said[-1]}; and {len(seen) - _SHOWN} more places look at leaves")
    return replace(one, obligations=(*one.obligations, *said), watchers=said)


def _sees(watcher: Watcher, index: Index, places: Sequence[Place], name: str) -> bool:
    """Whether a watcher may look at the layers that are built at some places, in a list that has a name."""
    if watcher.attributes is not None and name not in watcher.attributes:
        return False
    if watcher.element_of is not None and watcher.element_of == name:
        return False
    return not watcher.classes or may_hold(index, places, watcher.classes)


def _said(watcher: Watcher) -> str:
    return (
        f"{watcher.place} reads {watcher.reads}: that changes where layers are stacked when they are built; "
        "`--stack call` leaves the parameters as they are"
    )
