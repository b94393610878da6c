"""Whether a scan over a list of layers would save anything, which takes three layers that may share a body."""

import ast
from dataclasses import dataclass, replace

from scanify.analysis.alike.parts import constructors
from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home, class_meant, given_in
from scanify.analysis.lists.layer_list import (
    FEW,
    Class,
    LayerList,
    Made,
    Reason,
    Varies,
    identity,
    not_shown,
)
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lists.varies import Variation
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, parameters
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_KEEPING = frozenset({"equinox.nn.Dropout", "jax.numpy.array", "jax.numpy.asarray"})
_DEEPEST = 4  # constructors through which an argument is followed; one passed on further is not shown to be stored
_ARITHMETIC = frozenset("float int bool abs min max round".split())


@dataclass(frozen=True)
class Gain:
    """`refusal` says why no three layers share a body, `undecided` why nothing shows whether three do.

    Without either, three or more layers of one constructor may share a body.
    """

    refusal: Reason | None = None
    undecided: Obligation | None = None


def gain_of(project: ProjectFacts, layers: LayerList) -> Gain:
    """Return whether three layers of a list may share a body."""
    repeated = [each for each in layers.made if each.repeated]
    refusal = _too_few(layers)
    shown = bool(layers.made) and all(each.cls is not None for each in layers.made) and not layers.open
    if refusal is not None or _written_out_alike(project, layers):
        return Gain(refusal)
    if shown and not repeated:
        rule = "SCN202" if len(layers.classes) > 1 else "SCN203"
        text = f"no three of the {len(layers.made)} layers are built alike"
        return Gain((rule, text, layers.made[0].place))
    doubts = [_doubt(project, each) for each in repeated]
    in_turns = len(layers.classes) > 1 and any(doubts)  # e.g. linear layers of their own sizes, and activations
    if (None in doubts and not in_turns) or _of_one_class(project, layers):
        return Gain()
    first = layers.open[0] if layers.open else not_shown("the source does not show the layers", None)
    first = next((each for each in doubts if each is not None), first)
    return Gain(undecided=replace(first, text=f"nothing shows that three layers share a body: {first.text}"))


def _of_one_class(project: ProjectFacts, layers: LayerList) -> bool:
    """True if the caller passes the layers, and their declared class has fewer than two subclasses."""
    declared = layers.declared if layers.parameter and not layers.made else None
    return declared is not None and (not isinstance(declared, Definition) or len(project.classes.heirs(declared)) < 2)


def _too_few(layers: LayerList) -> Reason | None:
    """Return why a list that is shown completely is too short; None if it is not."""
    counts = ["1" if not each.repeated else each.count or "" for each in layers.made]
    whole = not layers.open and len(layers.classes) < 2 and not any(each.conditional for each in layers.made)
    if not counts or not whole or not all(map(str.isdecimal, counts)) or sum(map(int, counts)) >= FEW:
        return None
    number = sum(map(int, counts))
    what = "layer" if number == 1 else "layers"
    return "SCN203", f"the list has {number} {what}: a scan over fewer than three saves nothing", layers.made[0].place


# -- layers of one expression ------------------------------------------------------------------------------------------


def _doubt(project: ProjectFacts, made: Made) -> Obligation | None:
    """Return why nothing shows that three layers of one repeated expression share a body; None if they may."""
    if made.cls is None and not made.arguments:
        return not_shown(f"what `{made.module.code(made.node)}` makes is not shown", made.place)
    home = home_of(project, made.module, made.node)
    for at, each in enumerate(made.arguments):
        if each.varies <= Varies.FEW:
            continue
        spread = isinstance(each.value, ast.Starred) or each.name == "**"
        values = home.values_of(each.value.id) if isinstance(each.value, ast.Name) else []
        listed = any(isinstance(value, ast.List | ast.Dict) for _, value in values)  # e.g. the layers of a stage
        if spread or listed or not _is_only_kept(project, made.cls, each.name, at):
            return not_shown(f"each is built from its own `{made.module.code(each.value)}`", made.place)
    return None


def _is_only_kept(project: ProjectFacts, cls: Class | None, name: str | None, at: int, depth: int = 0) -> bool:
    """True if a class of the project only stores an argument, or arithmetic on it, and uses it for no shape.

    `self.rate = rate` gives each layer its own number, which an array can hold; `Linear(width, width)` gives each its
    own shapes.
    """
    if not isinstance(cls, Definition) or depth > _DEEPEST:
        return False
    found = next(constructors(project, cls), None)
    fields = project.classes.fields(cls)
    names = [each.arg for each in parameters(found[1])][1:] if found is not None else list(fields)
    name = name or (names[at] if at < len(names) else None)
    if found is None:
        return name in fields and not is_static(fields[name].default)
    uses = (each for each in nodes_in(*found[1].body) if isinstance(each, ast.Name) and each.id == name)
    static = {each for each in fields if is_static(fields[each].default)}
    return name in names and all(_is_stored(found[0], each, static, depth) for each in uses)


def _is_stored(home: Home, node: ast.AST, static: set[str], depth: int) -> bool:
    """True if an expression reaches a non-static field through arithmetic and constructors alone."""
    through = (ast.BinOp, ast.UnaryOp, ast.keyword)
    above = next(
        each
        for each in ancestors(home.module, node)
        if not isinstance(each, through)
        and home.builtin(each) not in _ARITHMETIC
        and home.library(each) not in _KEEPING
    )
    match above:
        case ast.Assign(targets=[ast.Attribute(attr=attr)]) | ast.AnnAssign(target=ast.Attribute(attr=attr)):
            return attr not in static
        case ast.Call(func=func):
            pairs = enumerate(given_in(above))
            name, at = next(((name, at) for at, (name, value) in pairs if node in nodes_in(value)), ("", 0))
            return _is_only_kept(home.project, class_meant(home, func), name, at, depth + 1)
        case _:
            return False


# -- layers that are written out ---------------------------------------------------------------------------------------


def _written_out_alike(project: ProjectFacts, layers: LayerList) -> bool:
    """True if three layers written out one by one are alike: any three of a single class, else three in a row."""
    made = [each for each in layers.made if not each.repeated and each.cls is not None]
    same = [(identity(each.cls), *_plain_arguments(project, each)) for each in made]
    if len(layers.classes) == 1:
        return any(same.count(each) >= FEW for each in same)
    return any(len(set(same[at : at + FEW])) == 1 for at in range(len(same) - FEW + 1))


def _plain_arguments(project: ProjectFacts, made: Made) -> list[tuple[str, str]]:
    """Return the arguments of a call as text, by name or position, without the random keys."""
    variation = Variation(home_of(project, made.module, made.node), ())
    pairs = ((each.name or str(at), each.value) for at, each in enumerate(made.arguments))
    return sorted((name, ast.unparse(value)) for name, value in pairs if name != "key" and not variation.is_key(value))
