"""Whether a scan over a list of layers would save anything: whether three of them may share a body."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.analysis.alike.alike import constructors, different_arguments
from scanify.analysis.index.meaning import Definition
from scanify.analysis.lists.declared import is_static
from scanify.analysis.lists.home import Home, class_meant
from scanify.analysis.lists.layer_list import (
    FEW,
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
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters, parent_of
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts

_KEEPING = frozenset({"equinox.nn.Dropout", "jax.numpy.array", "jax.numpy.asarray"})
_DEEPEST = 4  # constructors that hand an argument on; one that hands it further is not shown to keep it
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
    for loop in dict.fromkeys(each.loops[-1] for each in repeated if each.loops):
        turn = [each for each in repeated if each.loops and each.loops[-1] is loop and not each.conditional]
        classes = {identity(each.cls): class_name(each.cls) for each in turn if each.cls is not None}
        if len(classes) > 1 and any(each.varies > Varies.KEY for each in turn):
            names = " and ".join(f"`{each}`" for each in classes.values())
            text = f"nothing to scan over: layers of different classes take turns in the list, {names}"
            return Gain(("SCN202", text, turn[0].place))
    shown = bool(layers.made) and all(each.cls is not None for each in layers.made)
    if shown and not repeated and not layers.open:
        return Gain(None if _written_out_alike(project, layers) else _all_unlike(project, layers))
    few = _too_few(project, layers)
    if few is not None:
        return Gain(few)
    found = [_doubt(project, each) for each in repeated]
    if _written_out_alike(project, layers) or any(each is None for each in found) or _of_one_class(project, layers):
        return Gain()
    if found:
        return Gain(undecided=found[0])
    first = layers.open[0] if layers.open else not_shown("the source does not show the layers", None)
    text = f"nothing shows that three layers share a body: {first.text}"
    return Gain(undecided=Obligation(first.kind, text, first.place))


def _of_one_class(project: ProjectFacts, layers: LayerList) -> bool:
    """True if layers that a caller gives are declared to be of a class that no two others inherit from."""
    declared = layers.declared if layers.parameter and not layers.made else None
    return declared is not None and (not isinstance(declared, Definition) or len(project.classes.heirs(declared)) < 2)


def _too_few(project: ProjectFacts, layers: LayerList) -> Reason | None:
    """Why a list that is shown as a whole is too short."""
    if layers.open or any(each.conditional for each in layers.made):
        return None
    counts = [_number(each) for each in layers.made]
    shown = [each for each in counts if each is not None]
    if not shown or len(shown) < len(counts) or sum(shown) >= FEW:
        return None
    return _few(sum(shown), layers.made[0])


def _few(count: int, made: Made) -> Reason:
    what = "layer" if count == 1 else "layers"
    return "SCN203", f"the list has {count} {what}: a scan over fewer than three saves nothing", made.place


def _number(made: Made) -> int | None:
    """How many layers an expression makes, if that is a number in the source."""
    if not made.repeated:
        return 1
    return int(made.count) if made.count is not None and made.count.isdecimal() else None


# -- layers of one expression ------------------------------------------------------------------------------------------


def _doubt(project: ProjectFacts, made: Made) -> Obligation | None:
    """Why nothing shows that three layers of one repeated expression share a body; None if they may."""
    start = "nothing shows that three layers share a body"
    if made.cls is None and not made.arguments:
        return not_shown(f"{start}: what `{made.module.code(made.node)}` makes is not shown", made.place)
    home = home_of(project, made.module, made.node)
    for at, each in enumerate(made.arguments):
        if each.varies <= Varies.KEY or each.few:
            continue
        spread = isinstance(each.value, ast.Starred) or each.name == "**"
        values = home.values_of(each.value.id) if isinstance(each.value, ast.Name) else []
        listed = any(isinstance(value, ast.List | ast.Dict) for _, value in values)  # layers of a stage
        if spread or listed or not _is_only_kept(project, made.cls, each.name, at):
            return not_shown(f"{start}: each is built from its own `{made.module.code(each.value)}`", made.place)
    return None


def _is_only_kept(project: ProjectFacts, cls: Class | None, name: str | None, at: int, depth: int = 0) -> bool:
    """True if a class of the project stores an argument, and makes nothing of its size.

    `self.rate = rate` gives each layer its own number, which an array can hold; `Linear(width, width)` its own shapes.
    """
    if not isinstance(cls, Definition) or depth > _DEEPEST:
        return False
    found = next(constructors(project, cls), None)
    if found is None:
        fields = project.classes.fields(cls)
        name = name or (list(fields)[at] if at < len(fields) else "")
        return name in fields and not is_static(fields[name].default)
    home, function = found
    names = [each.arg for each in parameters(function)][1:]
    name = name or (names[at] if at < len(names) else None)
    uses = (each for each in nodes_in(*function.body) if isinstance(each, ast.Name) and each.id == name)
    return name in names and all(_keeps(home, cls, each, depth) for each in uses)


def _keeps(home: Home, cls: Definition, node: ast.AST, depth: int) -> bool:
    """True if an expression goes into a field that is not static, through arithmetic and constructors alone."""
    above = parent_of(home.module, node)
    keyword = above.arg if isinstance(above, ast.keyword) else None
    if isinstance(above, ast.keyword):
        above = parent_of(home.module, above)
    if isinstance(above, ast.BinOp | ast.UnaryOp) or home.builtin(above) in _ARITHMETIC:
        return above is not None and _keeps(home, cls, above, depth)
    if isinstance(above, ast.Call):
        at = next((at for at, each in enumerate(above.args) if each is node), 0)
        part = class_meant(home, above.func)
        return home.library(above) in _KEEPING or _is_only_kept(home.project, part, keyword, at, depth + 1)
    targets = above.targets if isinstance(above, ast.Assign) else [getattr(above, "target", None)]
    if not isinstance(above, ast.Assign | ast.AnnAssign):
        return False
    fields = home.project.classes.fields(cls)
    named = [each.attr if isinstance(each, ast.Attribute) else None for each in targets]
    return all(each is not None and not (each in fields and is_static(fields[each].default)) for each in named)


# -- layers that are written out ---------------------------------------------------------------------------------------


def _written_out_alike(project: ProjectFacts, layers: LayerList) -> bool:
    """True if three layers that are written out are alike: any three if there is one class, else three in a row."""
    made = layers.made
    if len(layers.classes) == 1:
        single = [each for each in made if not each.repeated]
        return any(sum(_same(project, one, other) for other in single) >= FEW for one in single)
    rows = (made[at : at + FEW] for at in range(len(made) - FEW + 1))
    return any(all(not each.repeated and _same(project, row[0], each) for each in row) for row in rows)


def _same(project: ProjectFacts, one: Made, other: Made) -> bool:
    return (
        one.cls is not None
        and identity(one.cls) == identity(other.cls)
        and different_arguments(project, one, other) is None
    )


def _all_unlike(project: ProjectFacts, layers: LayerList) -> Reason:
    """Why no three of the layers that are written out are alike."""
    made = layers.made
    if len(layers.classes) > 1 and not _three_of_one(made):
        names = ", ".join(f"`{class_name(each)}`" for each in layers.classes)
        return "SCN202", f"the layers are of different classes: {names}", made[0].place
    pairs = ((at, different_arguments(project, made[0], each)) for at, each in enumerate(made))
    unlike = next(((at, found) for at, found in pairs if found is not None), None)
    if unlike is None and len(made) < FEW:
        return _few(len(made), made[0])
    text = f"no three of the {len(made)} layers are built alike" if len(made) >= FEW else ""
    if unlike is not None:
        text += f"{': ' * bool(text)}layers 0 and {unlike[0]} are built with different arguments: {unlike[1]}"
    return "SCN203", text, made[0].place


def _three_of_one(made: Sequence[Made]) -> bool:
    classes = [identity(each.cls) for each in made]
    return any(classes.count(each) >= FEW for each in classes)
