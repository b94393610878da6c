"""Whether a scan over some layers would save anything: whether three of them are shown or likely to share a body."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.flow.names import target_names
from scanify.analysis.index import Index
from scanify.analysis.loops.lists.layer_list import FEW, Reason
from scanify.analysis.loops.lists.listed import walks_repeated
from scanify.analysis.lower.nodes import mentions
from scanify.analysis.lower.scope import ancestors
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import Function, Instance, Library, Listed, OneOf, Partial, Unknown, Value, options
from scanify.analysis.values.heap import Group
from scanify.analysis.values.marks import AN_ELEMENT, Mark, Vary
from scanify.analysis.values.objects.likeness import Difference, difference, is_layer, same_class
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.interpreter import Interpreter

Differences = Sequence[tuple[Group, Difference]]


def no_gain(index: Index, groups: Sequence[Group], differences: Differences) -> Reason | None:
    """Why no three layers are likely to share a body; None where some are.

    Layers that one expression makes are, unless each has its own shapes or is made from something of its own that is
    no number or key, or others stand between them. Layers that are written out are where three of a class follow one
    another.
    """
    repeated = [group for group in groups if group.repeated]
    if not repeated or _follow(groups):
        return None
    picked = _picked(repeated)
    if picked is not None:
        return picked
    found = {id(group): each for group, each in differences}
    reasons = [_against(index, group, groups, found) for group in repeated]
    return None if any(reason is None for reason in reasons) else reasons[0]


def repeats(run: Interpreter, group: Group) -> bool:
    """Whether layers that loops in one another make are alike along one of them, if not along all: those of a stage,
    `for width in widths: for _ in range(n)`, or those of each turn, `for _ in range(n): for dilation in (1, 2, 4)`."""
    along = (replace(group, loops=(loop,)) for loop in group.loops) if len(group.loops) > 1 else ()
    return any((found := difference(run, each)) is None or found.how < Vary.LISTED for each in along)


def listed_by_caller(differences: Differences) -> Reason | None:
    """Why layers share no body: for each the caller lists a size or a setting, as they differ."""
    for group, found in differences:
        if found.how is Vary.LISTED:
            place = group.module.place(group.node)
            text = f"nothing shows that three layers share a body: for each the caller lists its own `{found.via}`"
            return "SCN203", f"{text} ({place.named})", place
    return None


def staged(run: Interpreter, groups: Sequence[Group]) -> Reason | None:
    """Why layers that hold layers of their own share no body: each holds another number of them."""
    for group in groups if len(groups) == 1 else ():
        for stage in options(group.element):
            if not isinstance(stage, Instance):
                continue
            mark = next(_own_numbers(run, group, stage), None)
            if mark is not None:
                place = group.module.place(group.node)
                text = f"nothing to scan over: each `{stage.name}` has its own number of layers"
                return "SCN203", f"{text}, through `{mark.via}` ({place.named})", place
    return None


def _own_numbers(run: Interpreter, group: Group, stage: Instance) -> Iterator[Mark]:
    """How the lists of layers differ in length that each element of a group holds."""
    lists = [option for value in stage.fields.values() for option in options(value) if isinstance(option, Listed)]
    for inner in (each for one in lists for each in one.cell.made):
        if any(isinstance(option, Unknown) or is_layer(run, option) for option in options(inner.element)):
            lengths = (mark for loop in inner.loops for mark in run.loop_lengths.get(loop, ()))
            yield from (mark for mark in lengths if mark.loop in group.loops and mark.how > Vary.KEY)


def _against(index: Index, group: Group, groups: Sequence[Group], found: Mapping[int, Difference]) -> Reason | None:
    """Why the layers of one expression are not likely to share a body with any next to them."""
    own = found.get(id(group))
    place = group.module.place(group.node)
    if own is not None and not own.fresh and not own.shared and not own.odd:
        through = f" through `{own.via}`" if own.via else ""
        differ = f"nothing shows that three layers share a body: they may differ in {own.what}{through} ({place.named})"
        if own.how is Vary.SHAPE:
            return "SCN203", differ, place
        if own.how is Vary.OTHER and own.via == AN_ELEMENT:
            text = "the list is filled with what the caller gives, who may mix classes"
            return "SCN215", f"{text}: nothing shows that three of them share a body", place
        if own.how is Vary.OTHER and own.via and not walks_repeated(index, group, own.via):
            text = f"nothing shows that three layers share a body: each is built from its own `{own.via}`"
            return "SCN203", differ if own.what else f"{text} ({place.named})", place
    kinds = _kinds(group.element)
    picked = own is not None and own.how is Vary.CHOICE and not own.path and own.via
    if picked and len(kinds) >= FEW and not walks_repeated(index, group, picked):
        text = f"nothing shows that three layers share a body: `{picked}` picks each of {len(kinds)} kinds"
        return "SCN202", f"{text} ({place.named})", place
    between = next((each for each in groups if each is not group and _alternates(group, each, found)), None)
    if between is not None:
        text = "nothing to scan over: layers of different classes take turns in the list"
        return "SCN202", f"{text}, {_name(group.element)} and {_name(between.element)}", place
    return None


def _kinds(value: Value) -> set[str]:
    """The classes that a layer may be of."""
    return {option.name for option in options(value) if isinstance(option, Instance)}


def _alternates(group: Group, other: Group, found: Mapping[int, Difference]) -> bool:
    """Whether another expression adds a layer of another kind between any two of a group's, and they do not repeat."""
    if not group.loops or not other.loops or group.loops[-1] not in other.loops:
        return False
    if any(_alike(mine, theirs) for mine in options(group.element) for theirs in options(other.element)):
        return False
    worst = max((found[id(each)].how for each in (group, other) if id(each) in found), default=None)
    return worst is not None and (worst >= Vary.SHAPE or not other.conditional)


def _alike(mine: Value, theirs: Value) -> bool:
    if isinstance(mine, Instance) and isinstance(theirs, Instance):
        made_apart = mine.name.endswith(".Sequential") and mine.node is not theirs.node
        return same_class(mine, theirs) and not made_apart
    return isinstance(mine, Unknown) and isinstance(theirs, Unknown)


def _picked(groups: Sequence[Group]) -> Reason | None:
    """Why steps share no body that a list of settings picks: some are layers, others have nothing to stack.

    `for step in steps: layers.append(Dense(step.width) if step.dense else Normalize())`, written as branches. Layers
    that all have parameters may well follow one another: attention among recurrent layers.
    """
    empty = next((group for group in groups if _is_empty(group.element)), None)
    item = _picked_by(empty) if empty is not None else None
    if empty is None or item is None:
        return None
    others = (each for each in groups if each.loops == empty.loops and not _is_empty(each.element))
    other = next((each for each in others if _picked_by(each) == item), None)
    if other is None:
        return None
    place = empty.module.place(empty.node)
    text = f"`{item}` picks the class of each layer, and a {_name(empty.element)}, which has no parameters, may follow"
    return "SCN202", f"{text} each {_name(other.element)} ({place.named}): nothing shows that three share a body", place


def _is_empty(value: Value) -> bool:
    """Whether a module has no fields at all."""
    return isinstance(value, Instance) and value.exact and not isinstance(value.cls, Library) and not value.fields


def _picked_by(group: Group) -> str | None:
    """The element of a list, no number, by which a branch of the loop that adds layers decides whether to add these."""
    tests: list[ast.expr] = []
    for around in ancestors(group.module, group.node):
        if isinstance(around, ast.If):
            tests.append(around.test)
        if isinstance(around, ast.For):
            names = target_names(around.target)
            call = dotted(around.iter.func) if isinstance(around.iter, ast.Call) else None
            elements = () if call == "range" else names[1:] if call == "enumerate" else names
            return next((name for name in elements if mentions(name, *tests)), None)
    return None


def _name(value: Value) -> str:
    match value:
        case Instance():
            return f"`{value.name}`"
        case Function():
            return f"`{value.name}`"
        case Library():
            return f"`{value.qualname}`"
        case Partial():
            return "a `functools.partial`"
        case OneOf():
            return _name(value.options[0])
        case _:
            return "a function"


def _follow(groups: Sequence[Group]) -> bool:
    """Whether three layers of one class that are written out follow one another."""
    run = 0
    before: Value | None = None
    for group in groups:
        same = before is not None and not group.repeated and _alike(before, group.element)
        run = run + 1 if same else 1
        before = None if group.repeated else group.element
        if run >= FEW:
            return True
    return False
