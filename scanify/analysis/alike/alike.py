"""Whether the layers of a list are shown to differ in nothing but the values of their arrays."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from scanify.analysis.alike.parts import building_code, composition, writes_into
from scanify.analysis.alike.shared import modules_of_lists, shared_objects
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import Class, LayerList, Made, Reason, Varies, class_name, not_shown
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function, parent_of
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Holds
from scanify.analysis.project_facts import ProjectFacts

# Returns the operations of the constructor of a class that are not understood.
Understood = Callable[[ProjectFacts, Definition], Sequence[Obligation]]

_STATEFUL = frozenset(f"equinox.nn.{name}" for name in ("BatchNorm", "SpectralNorm", "StateIndex", "StatefulLayer"))


@dataclass(frozen=True)
class Alike:
    """The container for the layers, and the reason for it.

    `unlike` says why they may differ in more than arrays, None if they do not: then `holds` is an `ArrayStacked`.
    `refusal` says why no container is right. `obligations` are what must hold of layers that may differ.
    """

    holds: Holds = Holds.BLOCK_SEQ
    unlike: str | None = None
    refusal: Reason | None = None
    obligations: tuple[Obligation, ...] = ()


def homogeneity(project: ProjectFacts, layers: LayerList, understood: Understood) -> Alike:
    """Return whether the layers are shown to be alike, may differ, or are one object several times."""
    refusal = layers.refusal or next(shared_objects(project, layers), None)
    if refusal is not None:
        return Alike(refusal=refusal)
    unlike = next(_unlike(project, layers, understood), None)
    if unlike is None:
        return Alike(Holds.ARRAY_STACKED)
    obligations = (*modules_of_lists(project, layers), *_compared_by_own_rule(project, layers))
    return Alike(unlike=unlike, obligations=obligations)


# -- layers that may differ --------------------------------------------------------------------------------------------


def _unlike(project: ProjectFacts, layers: LayerList, understood: Understood) -> Iterator[str]:
    """Why the layers may differ in more than the values of their arrays."""
    if layers.open:
        yield layers.open[0].text
    if not layers.made:
        yield "the source does not show the layers"
    if len(layers.classes) > 1:
        names = ", ".join(f"`{class_name(each)}`" for each in layers.classes)
        yield f"the layers are of different classes: {names}"
    for made in layers.made:
        worst = max(made.arguments, key=lambda each: each.varies, default=None)
        if worst is not None and worst.varies > Varies.KEY:
            yield f"each layer is built with its own value of `{made.module.code(worst.value)}`"
        if made.cls is None:
            yield f"what `{made.module.code(made.node)}` makes is not shown"
    if layers.may_be_empty:
        yield "the list may be built empty"
    for at, made in enumerate(layers.made):
        difference = different_arguments(project, layers.made[0], made)
        if difference is not None:
            yield f"layers 0 and {at} are built with different arguments: {difference}"
    if any(each.conditional or (each.repeated and len(layers.made) > 1) for each in layers.made):
        yield "some layers are built apart from the others, or only under a condition"
    for cls in layers.classes:
        for name, place in writes_into(project, composition(project, cls)):
            yield f"each layer may be another one, as `{name}` of layers is stored into ({place.named})"
        yield from _of_class(project, cls, understood)


def different_arguments(project: ProjectFacts, one: Made, other: Made) -> str | None:
    """Return the first arguments of two calls of one class that differ and are no keys: "`3` and `64`"."""
    mine, theirs = plain_arguments(project, one), plain_arguments(project, other)
    for name in dict.fromkeys((*mine, *theirs)):
        pair = mine.get(name), theirs.get(name)
        if pair[0] != pair[1]:
            return " and ".join(f"`{each}`" if each is not None else "none" for each in pair)
    return None


def plain_arguments(project: ProjectFacts, made: Made) -> dict[str | int, str]:
    """Return the arguments of a call as text, by name or position, without the random keys."""
    variation = Variation(home_of(project, made.module, made.node), ())
    pairs = ((each.name or at, each.value) for at, each in enumerate(made.arguments))
    return {name: ast.unparse(value) for name, value in pairs if name != "key" and not variation.is_key(value)}


def _of_class(project: ProjectFacts, cls: Class, understood: Understood) -> Iterator[str]:
    """Why two layers of one class that are built with equal arguments may differ in more than arrays."""
    for part in composition(project, cls):
        code = list(building_code(project, part))
        libraries = [home.library(each) for home, function in code for each in nodes_in(*function.body)]
        for name in (part.qualname, *libraries) if isinstance(part, External) else libraries:
            if name in _STATEFUL:
                stateful = name.rpartition(".")[2]
                yield f"`{class_name(cls)}` holds a `{stateful}`, whose index differs in every layer"
        if isinstance(part, External):
            continue
        if (odd := project.classes.oddity(part)) is not None:
            yield f"each layer may be another one, as {odd}"
        for home, function in code:
            for each in _kept_functions(home, function):
                yield f"each layer is built with a function of its own ({home.module.place(each).named})"
            for call, _ in _plain_objects(home, function.body):
                text, place = home.module.code(call), home.module.place(call).named
                yield f"each layer is built with an object of its own, `{text}` ({place})"
        for obligation in understood(project, part):
            yield f"each layer may be another one: {obligation.text}"


def _kept_functions(home: Home, function: Function) -> Iterator[ast.AST]:
    """The functions that a constructor makes, but for those that it only calls or passes to a function."""
    inner = {each.name for each in function.body if isinstance(each, ast.FunctionDef)}
    for each in nodes_in(*function.body):
        named = isinstance(each, ast.Name) and each.id in inner
        if named or isinstance(each, ast.Lambda) or home.library(each) == "functools.partial":
            above = parent_of(home.module, each)
            above = parent_of(home.module, above) if isinstance(above, ast.keyword) else above
            if not isinstance(above, ast.Call) or Variation(home, ()).makes_module(above):
                yield each


def _plain_objects(home: Home, nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.Call, Definition]]:
    """The calls that make objects of classes of the project that are no modules."""
    for call in (each for each in nodes_in(*nodes) if isinstance(each, ast.Call)):
        match home.meaning(call.func):
            case Definition(node=ast.ClassDef()) as made if not home.project.classes.is_module(made):
                yield call, made


def _compared_by_own_rule(project: ProjectFacts, layers: LayerList) -> Iterator[Obligation]:
    """Objects in layers whose class has an `__eq__` of its own, which may call objects equal that differ."""
    code = [(home_of(project, made.module, made.node), [each.value for each in made.arguments]) for made in layers.made]
    parts = (part for cls in layers.classes for part in composition(project, cls))
    code += [(home, list(function.body)) for part in parts for home, function in building_code(project, part)]  # type: ignore[arg-type]
    for home, nodes in code:
        for call, made in _plain_objects(home, nodes):
            if project.classes.method(made, "__eq__") is not None:
                text = f"objects of `{made.name}` in layers that its own `__eq__` calls equal do the same"
                yield not_shown(text, home.module.place(call))
