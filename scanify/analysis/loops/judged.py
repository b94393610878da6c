"""Whether the layers of a list share a body, and how they differ where they do not."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.applied import walks_elements
from scanify.analysis.loops.gain import listed_by_caller, no_gain, repeats, staged
from scanify.analysis.loops.lists.given import callers_show, of_any_heir, of_any_part, some_alike
from scanify.analysis.loops.lists.layer_list import FEW, Layers, Reason, groups_of, is_unshown
from scanify.analysis.loops.lists.listed import listed_alike
from scanify.analysis.loops.lists.usual import usual_length
from scanify.analysis.loops.made_otherwise import made_otherwise
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import mentions, nodes_in
from scanify.analysis.lower.scope import ancestors
from scanify.analysis.values.domain import Instance, OneOf, Unknown, options
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.iterations.iteration import entries
from scanify.analysis.values.marks import Vary
from scanify.analysis.values.objects.likeness import (
    Difference,
    difference,
    distinct,
    same_class,
    stateful,
    unlike_pair,
    worst_mark,
)
from scanify.analysis.values.objects.sharing import held_twice
from scanify.analysis.values.run.interpreter import Interpreter

_NO_GAIN = ("SCN202", "SCN203")


def mixed(run: Interpreter, groups: Sequence[Group]) -> Reason:
    names = dict.fromkeys(
        option.name for group in groups for option in options(group.element) if isinstance(option, Instance)
    )
    text = f"the layers are of different classes: {', '.join(f'`{name}`' for name in names)}"
    return "SCN202", text, groups[0].module.place(groups[0].node)


def _too_few(count: int, why: str = "") -> str:
    return (
        f"the list has {count} {'layer' if count == 1 else 'layers'}{why}: a scan over fewer than three saves nothing"
    )


def judged(run: Interpreter, loop: Loop, layers: Layers, cell: ListCell | DictCell, groups: Sequence[Group]) -> Layers:
    """Whether the layers share a body, and how they differ."""
    place = groups[0].module.place(groups[0].node)
    shared = _shared(cell, groups)
    if shared is not None:
        return replace(layers, refusal=("SCN204", shared, place))
    private = _private_to_two(run, layers)
    if private is not None:
        return replace(layers, refusal=("SCN201", private, place))
    count = cell.length() if isinstance(cell, ListCell) else entries(cell)
    if count is not None and count < FEW and not layers.given:
        layers = replace(layers, few=_too_few(count))
    usual = usual_length(run.index, cell) if count is None and isinstance(cell, ListCell) else None
    if usual is not None and not layers.given:
        layers = replace(layers, few=_too_few(usual[0], f", as nobody gives another `{usual[1]}`"))
    differences = [(group, found) for group in groups if (found := difference(run, group)) is not None]
    worst = max(differences, key=lambda pair: pair[1].badness, default=None)
    classes = layers.classes
    repeated = [group for group in groups if group.repeated]
    useless = _useless(run, loop, layers, cell, groups, differences)
    if useless is not None and not layers.several:
        return replace(layers, refusal=useless)
    if worst is not None and layers.several and walks_elements(loop, layers.walk):
        worst = _unlike_stages(run, cell)
        if worst is not None:
            through = worst[1].via or worst[1].path
            text = f"each stage is built with its own value of `{through}`: the loops over each of them can be scans"
            return replace(layers, refusal=("SCN203", text, worst[0].module.place(worst[0].node)))
    if worst is not None and worst[1].how >= Vary.SHAPE and layers.several:  # then each element has one that differs
        useless = no_gain(run.index, [worst[0]], differences)
        if useless is not None:
            return replace(layers, refusal=useless)
    if worst is not None and worst[1].shared:
        text = f"every layer holds the same `{worst[1].via}` in `{worst[1].path}`; pass it to the layer's call instead"
        if worst[1].taken:
            text = f"layers may hold the same `{worst[1].via}` in `{worst[1].path}`, as it is taken by number"
        if worst[1].array:
            text = f"every layer holds the same array in `{worst[1].path}`; pass it to the layer's call instead"
        return replace(layers, refusal=("SCN204", text, worst[0].module.place(worst[0].node)))
    if worst is not None and worst[1].odd:
        text = f"`{worst[1].odd}` compares objects by its own `__eq__`, and those here differ in `{worst[1].path}`"
        return replace(layers, refusal=("SCN203", text, worst[0].module.place(worst[0].node)))
    state = next((held for each in classes if (held := stateful(run, each)) is not None), None)
    unlike = _unlike(layers, groups, worst, state) or _made_otherwise(run, layers)
    if len(classes) > 1 and all(map(is_unshown, repeated)) and not layers.several and _no_three(groups):
        return replace(layers, refusal=mixed(run, groups))
    if not repeated and not layers.several and unlike is not None and _most_alike(groups) < FEW:
        text = unlike if len(groups) < FEW else f"no three of the {len(groups)} layers are built alike: {unlike}"
        return replace(layers, refusal=("SCN203", text, place), few=layers.few)
    exact = len(classes) == 1 and all(
        option.exact for group in groups for option in options(group.element) if isinstance(option, Instance)
    )
    grouped = _grouped(layers, groups, worst, state)
    exact = exact and not layers.hidden and not layers.functions
    return replace(
        layers, exact=exact, unlike=unlike or layers.unlike, grouped=grouped, obligations=tuple(_hoped(differences))
    )


def _useless(
    run: Interpreter,
    loop: Loop,
    layers: Layers,
    cell: ListCell | DictCell,
    groups: Sequence[Group],
    differences: Sequence[tuple[Group, Difference]],
) -> Reason | None:
    """Why nothing would be gained, as no three layers are likely to share a body."""
    lasting = [(group, found) for group, found in differences if not repeats(run, group)]
    found = _of_any_class(run, layers, cell, groups) or of_any_part(run, loop, layers.walk, groups)
    found = found or no_gain(run.index, groups, lasting) or staged(run, groups)
    listed = None if found is not None else listed_by_caller(lasting)
    if listed is None or (loop.element is None and isinstance(cell, ListCell) and listed_alike(run.index, cell)):
        return found
    return listed


def _private_to_two(run: Interpreter, layers: Layers) -> str | None:
    """Why a field is two: `self.__layers` is another field in each class of a lineage that says so (PEP 8, mangling).

    The values of objects go by the names as they are written.
    """
    name, owner = layers.attribute or "", layers.owner
    if owner is None or not name.startswith("__") or name.endswith("__"):
        return None
    related = [owner, *run.classes.heirs(owner)]
    classes = {each.node: each for one in related for each in run.classes.lineage(one)}
    users = [
        each.name for each in classes.values() if any(getattr(part, "attr", "") == name for part in nodes_in(each.node))
    ]
    if len(users) < 2:
        return None
    return f"`{name}` is private to a class, and {' and '.join(f'`{each}`' for each in users)} each have one"


def _hoped(differences: Sequence[tuple[Group, Difference]]) -> Iterator[str]:
    """That some layers are alike, where a caller lists the sizes or the settings of each: others are no shorter."""
    for group, found in differences:
        if found.how is Vary.LISTED:
            place = group.module.place(group.node)
            through = f"`{found.via}` ({place.named}), which the caller lists"
            yield f"three layers in a row get equal values through {through}"


def _unlike_stages(run: Interpreter, cell: ListCell | DictCell) -> tuple[Group, Difference] | None:
    """How stages differ from one another: not how the layers of one do.

    Functions that each layer makes anew are equal as code where nothing of the loop that makes the stages is in them.
    """
    groups = groups_of(cell)
    found = [
        (group, each)
        for group in groups
        if (each := difference(run, group, fresh=not _only_counted(group))) is not None
    ]
    return max(found, key=lambda pair: pair[1].how, default=None)


def _only_counted(group: Group) -> bool:
    """Whether the loop that adds elements reads nothing of what it counts: `for _ in range(depth)`."""
    loop = next((each for each in ancestors(group.module, group.node) if isinstance(each, ast.For)), None)
    names = target_names(loop.target) if loop is not None else ()
    reads = (each for name in names for each in mentions(name, *loop.body)) if loop is not None else ()
    return loop is not None and not any(isinstance(each.ctx, ast.Load) for each in reads)


def _of_any_class(
    run: Interpreter, layers: Layers, cell: ListCell | DictCell, groups: Sequence[Group]
) -> Reason | None:
    """Why a list shows no three layers of one class, where it is only known which class is above theirs."""
    repeated = [group for group in groups if group.repeated]
    heirs = [group for group in groups if of_any_heir(run, group)]
    declared = next((group for group in heirs if group.repeated or len(heirs) + len(repeated) == len(groups)), None)
    if declared is None or not repeated or cell.given:
        return None
    if not all(is_unshown(each) or of_any_heir(run, each) for each in repeated):
        return None
    if any(each is not cell and some_alike(run, groups_of(each), open_to_all=True) for each in layers.cells):
        return None
    if callers_show(run, layers, open_to_all=True):
        return None
    if not _no_three([group for group in groups if not group.repeated]):
        return None
    name = next(option.name for option in options(declared.element) if isinstance(option, Instance))
    text = f"the list holds objects of any class that inherits from `{name}`: nothing shows that three share a body"
    return "SCN215", text, declared.module.place(declared.node)


def _most_alike(groups: Sequence[Group]) -> int:
    """Of how many layers that are written out one by one nothing shows that they are built differently, at most."""
    return max((sum(_built_alike(one, other) for other in groups) for one in groups), default=0)


def _built_alike(one: Group, other: Group) -> bool:
    mine = [option for option in options(one.element) if isinstance(option, Instance)]
    theirs = [option for option in options(other.element) if isinstance(option, Instance)]
    if not mine or not theirs:
        return not mine and not theirs and any(isinstance(option, Unknown) for option in options(one.element))
    if not any(same_class(each, option) for each in mine for option in theirs):
        return False
    written = isinstance(one.node, ast.Call) and isinstance(other.node, ast.Call)
    unlike = unlike_pair(one, other) if written else None
    return unlike is None or unlike.in_rates


def _no_three(groups: Sequence[Group]) -> bool:
    names: dict[str, int] = {}
    for group in groups:
        made = [option for option in options(group.element) if isinstance(option, Instance)]
        for name in {each.name for each in made if isinstance(each.cls, Definition)}:  # each of them makes one layer
            names[name] = names.get(name, 0) + 1
    return not any(count > 1 for count in names.values()) or sum(names.values()) < FEW


def _shared(cell: ListCell | DictCell, groups: Sequence[Group]) -> str | None:
    """Why one object may be several layers, where it may."""
    if isinstance(cell, ListCell) and cell.repeats is not None:
        return "the list repeats one layer object with `*`"
    twice = held_twice(groups)
    if twice is None:
        return None
    group, again = twice.group, twice.again
    code = group.module.code(group.node)
    if again is None:
        what = "every layer is the same object" if twice.sure else "several layers may be one object"
        return f"{what}, `{code}`"
    kind = "dict" if isinstance(cell, DictCell) else "list"
    other = again.module.code(again.node)
    if code == other and isinstance(group.node, ast.Name | ast.Attribute):
        return f"one layer object stands in the {kind} more than once"
    return f"one layer object may stand in the {kind} more than once, in `{code}` and in `{other}`"


def _unlike(
    layers: Layers, groups: Sequence[Group], worst: tuple[Group, Difference] | None, state: str | None
) -> str | None:
    names = [each.name for each in layers.classes]
    if layers.several:
        return "each element is a tuple or a list of layers"
    if len(names) > 1:
        return f"the layers are of different classes: {', '.join(f'`{name}`' for name in names)}"
    if layers.functions:
        return "some elements of the list are functions"
    if layers.hidden:
        return f"some elements of the list are not shown: {layers.hidden}"
    if worst is not None:
        found = worst[1]
        if found.fresh:
            return f"each layer is built with a function of its own in `{found.path}`"
        return f"each layer is built with its own value of `{found.via}`"
    if state is not None:
        return f"`{names[0]}` holds a `{state}`, whose index differs in every layer"
    if any(each.origin not in ("", "self") and not each.exact and "tree_at" in each.origin for each in layers.classes):
        return "the layers are changed after they are built"
    first = groups[0]
    for at, group in enumerate(groups[1:], start=1):
        pair = unlike_pair(first, group)
        if pair is not None:
            return f"layers 0 and {at} are built with different arguments: {pair.text}"
    if any(group.conditional for group in groups) and len(groups) > 1:
        return "some layers are built only under a condition"
    return None


def _made_otherwise(run: Interpreter, layers: Layers) -> str | None:
    made = (made_otherwise(run, each.cls) for each in layers.classes if isinstance(each.cls, Definition))
    why = next((each for each in made if each is not None), None)
    return f"each layer may be another one, as {why}" if why is not None else None


def _grouped(
    layers: Layers, groups: Sequence[Group], worst: tuple[Group, Difference] | None, state: str | None
) -> str | None:
    if state is not None:
        return f"a `{state}` has its own index in every layer"
    if layers.several:
        return None if worst is None else f"each element is built with its own value of `{worst[1].via}`"
    if worst is not None and worst[1].how in (Vary.CHOICE, Vary.LISTED, Vary.SHAPE):
        return f"a condition on `{worst[1].via}` decides what a layer is"
    if worst is not None and worst[1].sized:
        return f"the shapes of a layer depend on `{worst[1].via}`"
    if worst is not None and worst[1].how is Vary.OTHER and not worst[1].fresh:
        return f"each layer is built with its own value of `{worst[1].via}`"
    if len(layers.classes) > 1 and not _chosen_for_all(groups):
        return "the layers are of different classes"
    pairs = (unlike_pair(groups[0], group) for group in groups[1:])
    if any(pair is not None and not pair.in_rates for pair in pairs):
        return "some layers are built apart from the others"
    return None


def _chosen_for_all(groups: Sequence[Group]) -> bool:
    """Whether one expression makes all layers, of a class that is chosen once for all of them."""
    element = groups[0].element
    marks = element.chosen if isinstance(element, OneOf) else element.marks
    return len(groups) == 1 and worst_mark(marks, groups[0]) is None


def together(built: Sequence[Layers], base: Layers) -> Layers:
    """What is known where the list may be one of several."""
    first = built[0]
    if len(built) == 1:
        return first
    refused = [(each, each.refusal) for each in built if each.refusal is not None]
    # Of a list that is built with fewer than three layers it says nothing that they share no body.
    against = [each for each, refusal in refused if each.few is None or each.hidden or refusal[0] not in _NO_GAIN]
    if against or len(refused) == len(built):
        return against[0] if against else refused[0][0]
    first = next(each for each in built if each.refusal is None)
    classes = tuple(distinct([each for one in built for each in one.classes]))
    exact = len(classes) == 1 and all(each.exact for each in built)
    unlike = next((each.unlike for each in built if each.unlike), refused[0][1][1] if refused else None)
    if len(classes) > 1:
        unlike = unlike or "the list is built of different classes in different branches"
    grouped = next((each.grouped for each in built if each.grouped), None)
    few = first.few if all(each.few for each in built) else None
    hidden = next((each.hidden for each in built if each.hidden), "")
    given = next((each.given for each in built if each.given), "")
    return replace(first, cells=base.cells, classes=classes, exact=exact, unlike=unlike, grouped=grouped, few=few,
                   hidden=hidden, given=given)  # fmt: skip
