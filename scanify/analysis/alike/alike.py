"""Whether the layers of a list are shown to differ only in the values of their arrays."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.alike.parts import composition, writes_into
from scanify.analysis.alike.shared import modules_of_lists, shared_objects
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.layer_list import Class, LayerList, Reason, Varies, class_name, not_shown
from scanify.analysis.lower.nodes import by_kind
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Holds
from scanify.analysis.project_facts import ProjectFacts

# Returns why layers of a class that are built with equal arguments may differ in more than arrays.
Understood = Callable[[ProjectFacts, Definition], Sequence[Obligation]]

_STATEFUL = frozenset(f"equinox.nn.{name}" for name in ("BatchNorm", "SpectralNorm", "StatefulLayer"))


@dataclass(frozen=True)
class Alike:
    """The container for the layers, and the reason for it.

    `unlike` says why the layers may differ in more than arrays; if it is None, `holds` is an `ArrayStacked`.
    `refusal` says why no container is right. `obligations` are conditions on layers that may differ.
    """

    holds: Holds = Holds.BLOCK_SEQ
    unlike: str | None = None
    refusal: Reason | None = None
    obligations: tuple[Obligation, ...] = ()


def homogeneity(project: ProjectFacts, layers: LayerList, understood: Understood) -> Alike:
    """Return whether the layers are shown to be alike, may differ, or share objects."""
    refusal = layers.refusal or next(shared_objects(project, layers), None)
    if refusal is not None:
        return Alike(refusal=refusal)
    unlike = next(_unlike(project, layers, understood), None)
    if unlike is None:
        return Alike(Holds.ARRAY_STACKED)
    obligations = (*modules_of_lists(project, layers), *_compared_by_own_rule(project, layers))
    return Alike(unlike=unlike, obligations=obligations)


def _unlike(project: ProjectFacts, layers: LayerList, understood: Understood) -> Iterator[str]:
    """Yield why the layers may differ in more than the values of their arrays."""
    if layers.open:
        yield layers.open[0].text
    if len(layers.classes) > 1:
        names = ", ".join(f"`{class_name(each)}`" for each in layers.classes)
        yield f"the layers are of different classes: {names}"
    if layers.may_be_empty:
        yield "the list may be built empty"
    if len(layers.made) != 1 or layers.made[0].conditional:
        yield "some layers are built apart from the others, or only under a condition"
    for made in layers.made:
        worst = max(made.arguments, key=lambda each: each.varies, default=None)
        if worst is not None and worst.varies > Varies.KEY:
            yield f"each layer is built with its own value of `{made.module.code(worst.value)}`"
        if made.cls is None:
            yield f"what `{made.module.code(made.node)}` makes is not shown"
    if any(True for _ in project.index.modules_with("StateIndex")):
        yield "layers may hold an index of state of their own, a `StateIndex`"
    for cls in layers.classes:
        for name, place in writes_into(project, composition(project, cls)):
            yield f"each layer may be another one, as `{name}` of layers is stored into ({place.named})"
        yield from _of_class(project, cls, understood)


def _of_class(project: ProjectFacts, cls: Class, understood: Understood) -> Iterator[str]:
    """Yield why layers of one class that are built with equal arguments may differ in more than arrays."""
    for part in composition(project, cls):
        if isinstance(part, External):
            if part.qualname in _STATEFUL:
                stateful = part.qualname.rpartition(".")[2]
                yield f"`{class_name(cls)}` holds a `{stateful}`, whose index differs in every layer"
            continue
        if (odd := project.classes.oddity(part)) is not None:
            yield f"each layer may be another one, as {odd}"
        for obligation in understood(project, part):
            yield f"each layer may be another one: {obligation.text}"


def _compared_by_own_rule(project: ProjectFacts, layers: LayerList) -> Iterator[Obligation]:
    """Yield the classes with their own `__eq__`, which may treat objects in layers as equal although they differ.

    Only classes count that are named, directly or by a subclass, in a file that makes layers.
    """
    parts = (part for cls in layers.classes for part in composition(project, cls))
    made = {*(each.module for each in layers.made), *(each.module for each in parts if isinstance(each, Definition))}
    for module in project.index.modules_with("__eq__"):
        for node in by_kind(module.tree).get(ast.ClassDef, ()):
            cls = Definition(module, node.name, node)
            names = {node.name, *(each.name for each in project.classes.heirs(cls))}
            own = "__eq__" in project.classes.methods(cls) and not project.classes.is_module(cls)
            if own and any(name in each.text for name in names for each in made):
                text = f"objects of `{node.name}` in layers that its own `__eq__` calls equal do the same"
                yield not_shown(text, module.place(node))
