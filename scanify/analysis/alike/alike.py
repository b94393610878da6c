"""Whether the layers of a list are shown to differ in nothing but the values of their arrays."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from scanify.analysis.alike.shared import held_by_class, held_by_constructor, modules_of_lists, shared_objects
from scanify.analysis.alike.written import writes_into
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home, class_meant, computed_from
from scanify.analysis.lists.layer_list import (
    Class,
    LayerList,
    Made,
    Reason,
    Varies,
    class_name,
    identity,
    not_shown,
)
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Function
from scanify.analysis.lower.text import dotted
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Holds
from scanify.analysis.project_facts import ProjectFacts

# Returns the operations of the constructor of a class that are not understood.
Understood = Callable[[ProjectFacts, Definition], Sequence[Obligation]]

_STATEFUL = frozenset(f"equinox.nn.{name}" for name in ("BatchNorm", "SpectralNorm", "StateIndex", "StatefulLayer"))
_NUMBERS = ("float", "int", "bool", "str", "round")


@dataclass(frozen=True)
class Alike:
    """What is to hold the layers, and why.

    `unlike` says why they may differ in more than arrays, None if they do not: then `holds` is an `ArrayStacked`.
    `refusal` says why no container is right. `obligations` are what must hold of layers that may differ.
    """

    holds: Holds = Holds.BLOCK_SEQ
    unlike: str | None = None
    refusal: Reason | None = None
    obligations: tuple[Obligation, ...] = ()


def homogeneity(project: ProjectFacts, layers: LayerList, understood: Understood) -> Alike:
    """Return whether the layers are shown to be alike, may differ, or are one object several times."""
    refusal = layers.refusal or next(chain(shared_objects(project, layers), _kept_by_classes(project, layers)), None)
    if refusal is not None:
        return Alike(refusal=refusal)
    unlike = next(_unlike(project, layers, understood), None)
    if unlike is None:
        return Alike(Holds.ARRAY_STACKED)
    return Alike(
        unlike=unlike, obligations=(*modules_of_lists(project, layers), *_compared_by_own_rule(project, layers))
    )


# -- layers that may differ --------------------------------------------------------------------------------------------


def _kept_by_classes(project: ProjectFacts, layers: LayerList) -> Iterator[Reason]:
    """Objects that the classes of layers keep in each of them: an array of the module, a default of a field."""
    for cls in layers.classes:
        for part in composition(project, cls):
            held: list[tuple[Home, ast.expr, str | None]] = []
            for home, function in constructors(project, part):
                stored = (each for each in nodes_in(*function.body) if not isinstance(each, ast.Return))
                values = [value for each in stored if (value := _stored(each)) is not None]
                held += [(home, value, held_by_constructor(home, value)) for value in values]
            for field in project.classes.fields(part).values() if isinstance(part, Definition) else ():
                home = Home(project, field.owner.module, None)
                if field.default is not None and not is_static(field.default):
                    held.append((home, field.default, held_by_class(home, field.default)))
            for home, value, what in held:
                if what is not None:
                    place = home.module.place(value)
                    yield "SCN204", f"every layer holds the same {what}, `{home.module.code(value)}`", place


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
    yield from _built_apart(project, layers.made)
    for cls in layers.classes:
        for name, place in writes_into(project, composition(project, cls)):
            yield f"each layer may be another one, as `{name}` of layers is stored into ({place.named})"
        yield from _of_class(project, cls, understood)


def _built_apart(project: ProjectFacts, made: Sequence[Made]) -> Iterator[str]:
    """Several expressions, whose layers are alike only if their arguments are."""
    for at, other in enumerate(made[1:], start=1):
        difference = different_arguments(project, made[0], other)
        if difference is not None:
            yield f"layers 0 and {at} are built with different arguments: {difference}"
    if len(made) > 1 and any(each.conditional or each.repeated for each in made):
        yield "some layers are built apart from the others"
    if len(made) == 1 and made[0].conditional:
        yield "some layers are built only under a condition"


def different_arguments(project: ProjectFacts, one: Made, other: Made) -> str | None:
    """Return the first arguments of two calls of one class that differ and are no keys: "`3` and `64`"."""
    mine, theirs = _given(project, one), _given(project, other)
    for name in dict.fromkeys((*mine, *theirs)):
        pair = mine.get(name), theirs.get(name)
        if pair[0] != pair[1]:
            return " and ".join(f"`{each}`" if each is not None else "none" for each in pair)
    return None


def _given(project: ProjectFacts, made: Made) -> dict[str | int, str]:
    """The arguments of a call as text, by name or position, without the random keys."""
    variation = Variation(home_of(project, made.module, made.node), ())
    pairs = ((each.name or at, each.value) for at, each in enumerate(made.arguments))
    return {name: ast.unparse(value) for name, value in pairs if name != "key" and not variation.is_key(value)}


def _of_class(project: ProjectFacts, cls: Class, understood: Understood) -> Iterator[str]:
    for part in composition(project, cls):
        name = class_name(part)
        if isinstance(part, External) and part.qualname in _STATEFUL:
            yield f"`{class_name(cls)}` holds a `{name.rpartition('.')[2]}`, whose index differs in every layer"
        if isinstance(part, Definition):
            if (odd := project.classes.oddity(part)) is not None:
                yield f"each layer may be another one, as {odd}"
            for home, function in building_code(project, part):
                yield from _own_parts(home, function)
                for node in random_choices(home, function):
                    code = home.module.code(node)
                    yield f"each layer may be another one, as `{code}` takes a random number out of its array"
            for each in understood(project, part):
                yield f"each layer may be another one: {each.text}"


def _compared_by_own_rule(project: ProjectFacts, layers: LayerList) -> Iterator[Obligation]:
    """Objects in layers whose class has an `__eq__` of its own, which may call objects equal that differ."""
    values = [each.value for made in layers.made for each in made.arguments]
    homes: list[tuple[Home, Sequence[ast.AST]]] = [
        (home_of(project, made.module, made.node), values) for made in layers.made
    ]
    for part in (part for cls in layers.classes for part in composition(project, cls)):
        if isinstance(part, Definition):
            homes += [(home, function.body) for home, function in building_code(project, part)]
    for home, nodes in homes:
        for call in (each for each in nodes_in(*nodes) if isinstance(each, ast.Call)):
            made_of = home.meaning(call.func)
            if not isinstance(made_of, Definition) or project.classes.is_module(made_of):
                continue
            if isinstance(made_of.node, ast.ClassDef) and project.classes.method(made_of, "__eq__") is not None:
                text = f"objects of `{made_of.name}` in layers that its own `__eq__` calls equal do the same"
                yield not_shown(text, home.module.place(call))


def composition(project: ProjectFacts, cls: Class) -> Iterator[Class]:
    """Yield a class and the classes of modules that its constructor makes, and those that theirs make."""
    waiting, seen = [cls], {identity(cls)}
    for each in waiting:  # which grows
        yield each
        for home, function in constructors(project, each):
            for call in (node for node in nodes_in(*function.body) if isinstance(node, ast.Call)):
                made = home.meaning(call.func)
                if not isinstance(made, Definition | External) or identity(made) in seen:
                    continue
                if project.classes.is_module(made):
                    seen.add(identity(made))
                    waiting.append(made)


def constructors(project: ProjectFacts, cls: Class) -> Iterator[tuple[Home, Function]]:
    """Yield the constructors of a class of the project and of those that it inherits from."""
    for owner in project.classes.lineage(cls) if isinstance(cls, Definition) else ():
        for name in ("__init__", "__post_init__", "__check_init__"):
            function = project.classes.methods(owner).get(name)
            if function is not None:
                yield Home(project, owner.module, function), function


def building_code(project: ProjectFacts, cls: Definition) -> Iterator[tuple[Home, Function]]:
    """Yield the constructors of a class, and the functions and methods of the project that they call."""
    waiting, seen = list(constructors(project, cls)), set[ast.AST]()
    for home, function in waiting:  # which grows
        if function in seen:
            continue
        seen.add(function)
        yield home, function
        for call in (each for each in nodes_in(*function.body) if isinstance(each, ast.Call)):
            meaning = home.meaning(call.func)
            method = isinstance(call.func, ast.Attribute) and project.classes.method(cls, call.func.attr)
            if isinstance(meaning, Definition) and isinstance(meaning.node, ast.FunctionDef):
                waiting.append((Home(project, meaning.module, meaning.node), meaning.node))
            elif method:
                waiting.append((Home(project, method[0].module, method[1]), method[1]))


def _own_parts(home: Home, function: Function) -> Iterator[str]:
    """Functions and objects that a constructor makes and stores; two layers never have equal ones."""
    inner = {each.name for each in function.body if isinstance(each, ast.FunctionDef)}
    for statement in nodes_in(*function.body):
        for each in _kept(home, value) if (value := _stored(statement)) is not None else ():
            place = home.module.place(each).named
            made = isinstance(each, ast.Lambda) or home.library(each) == "functools.partial"
            if made or (isinstance(each, ast.Name) and each.id in inner):
                yield f"each layer is built with a function of its own ({place})"
            elif isinstance(each, ast.Call) and _compared_as_itself(home, each):
                yield f"each layer is built with an object of its own, `{home.module.code(each)}` ({place})"


def _stored(statement: ast.AST) -> ast.expr | None:
    """The value that a statement stores in an object, or returns."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return value if any(isinstance(each, ast.Attribute) for each in targets) else None
        case ast.AnnAssign(target=ast.Attribute(), value=value) | ast.Return(value=value):
            return value
        case _:
            return None


def _kept(home: Home, value: ast.expr) -> Iterator[ast.expr]:
    """The expressions whose values an assigned value may hold: elements, and what constructors are given."""
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            pass
        case ast.ListComp(elt=part) | ast.GeneratorExp(elt=part):
            parts = [part]
        case ast.Call() if class_meant(home, value.func) is not None or home.builtin(value) in ("list", "tuple"):
            yield value
            parts = [*value.args, *(each.value for each in value.keywords)]
        case _:
            yield value
            parts = []
    for part in parts:
        yield from _kept(home, part)


def _compared_as_itself(home: Home, node: ast.Call) -> bool:
    """True if a call makes an object of a class of the project that is no module and may have no `__eq__` by fields."""
    meaning, classes = home.meaning(node.func), home.project.classes
    if not isinstance(meaning, Definition) or not isinstance(meaning.node, ast.ClassDef) or classes.is_module(meaning):
        return False
    decorated = any("dataclass" in ast.unparse(each) for each in meaning.node.decorator_list)
    bases = {getattr(each, "qualname", "") for owner in classes.lineage(meaning) for each in classes.bases(owner)}
    return (
        not (decorated or bases & {"typing.NamedTuple", "enum.Enum"}) or classes.method(meaning, "__eq__") is not None
    )


def random_choices(home: Home, function: Function) -> Iterator[ast.expr]:
    """Yield what makes a number, a text or a decision of Python out of something random: `float(uniform(key))`."""
    nodes = nodes_in(*function.body)
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    keys = [part.value for each in calls for part in each.keywords if part.arg == "key"]
    keys += [part for each in calls if home.library(each).startswith("jax.random.") for part in each.args[:1]]
    random = computed_from({name for each in keys if (name := dotted(each)) is not None}, nodes)
    for each in nodes:
        if isinstance(each, ast.If | ast.IfExp | ast.While):
            taken = [] if _is_none_test(each.test) else [each.test]
        elif home.builtin(each) in _NUMBERS or home.library(each).startswith("numpy."):
            taken = each.args  # type: ignore[attr-defined]
        else:
            method = isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
            taken = [each.func] if method and each.func.attr in ("item", "tolist") else []  # type: ignore[attr-defined]
        if any(dotted(part) in random for part in nodes_in(*taken)):
            yield each.test if isinstance(each, ast.If | ast.While) else each  # type: ignore[misc]


def _is_none_test(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and all(isinstance(each, ast.Is | ast.IsNot) for each in test.ops)
