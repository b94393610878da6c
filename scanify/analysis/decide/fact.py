"""Everything that is known about one loop over modules."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scanify.analysis.alike.alike import Alike, homogeneity
from scanify.analysis.alike.gain import Gain, gain_of
from scanify.analysis.decide.bodies import bodies_of
from scanify.analysis.decide.heads import iterator_problems, other_lengths
from scanify.analysis.decide.remedies import REMEDIES
from scanify.analysis.facts import Place
from scanify.analysis.flow.round_trips import round_trips
from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.language.constructor import obligations_of
from scanify.analysis.language.loop import LoopObligations, understood
from scanify.analysis.language.types import (
    Array,
    Function,
    Items,
    LibraryFunction,
    LibraryObject,
    Mapped,
    Nothing,
    Object,
    Static,
    Type,
    Unknown,
    options,
    parts_of,
)
from scanify.analysis.lists.find import layer_list, layers_of
from scanify.analysis.lists.layer_list import LayerList, Reason, Varies
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import called
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation, each_once
from scanify.analysis.plan import Bodies, Kind, Refusal
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.uses.of_list import uses_of
from scanify.analysis.uses.use import Uses

_BELOW = frozenset({"equinox", "jax", "jaxtyping"})
_SUPER = "`super()` without arguments does not work in the function of a scan"


@dataclass(frozen=True, eq=False)
class LoopFact:
    """The facts of a loop over modules: its layers, its shape, the obligations of its body, and obstacles to a scan.

    `problems` are in the order in which they are reported. `trees` is True if the layers are trees of arrays.
    """

    loop: Loop
    layers: LayerList
    shape: LoopShape
    body: LoopObligations
    alike: Alike
    gain: Gain
    uses: Uses
    problems: tuple[Reason, ...]
    kind: Kind
    bodies: Bodies
    obligations: tuple[Obligation, ...]
    trees: bool = False

    @property
    def one_body(self) -> bool:
        """True if nothing in the loop itself needs the layers one by one."""
        return self.bodies.one and self.shape.index is None

    def refused(self, rule: str, reason: str, at: Place | None = None, remedy: str = "") -> Refusal:
        """Return a refusal of the loop."""
        return Refusal(
            place=self.loop.place,
            rule=rule,
            reason=reason,
            kind=self.kind,
            container=self.loop.code(self.layers.walk.base),
            carry=self.shape.carry,
            xs=self.shape.xs,
            broadcast=self.shape.broadcast,
            ys=tuple(each.name for each in self.shape.collections),
            at=at,
            remedy=remedy or REMEDIES.get(rule, ""),
        )


def fact_of(
    project: ProjectFacts, loop: Loop, layers: LayerList | None = None, *, trees: bool = False
) -> LoopFact | None:
    """Return the facts of a loop, None if it is not over modules. `layers` saves a search if they are known."""
    layers = layers or layers_of(project, loop)
    if layers is None:
        return None
    shape = shape_of(loop, layers.walk)
    if not shape.applies_layer:
        return None
    uses = uses_of(project, layers)
    changed: list[Obligation] = []
    if uses.changes is not None and layers.attribute is not None:
        text = f"{uses.changes.what}: then other layers may be in `{layers.name}`"
        changed = [Obligation(Shows.LAYERS, text, uses.changes.place)]
        layers = replace(layers, open=(*layers.open, *changed))
    made, home = [each.cls for each in layers.made], (layers.owner, layers.attribute)
    body = understood(project, loop, shape, made, home=home, trees=trees)
    shape = _with_types(project, loop, shape, body)
    alike = Alike(unlike="trees of arrays may differ") if trees else homogeneity(project, layers, obligations_of)
    gain = Gain() if trees else gain_of(project, layers)
    problems = tuple(_problems(project, loop, layers, shape, body))
    return LoopFact(
        loop,
        layers,
        shape,
        body,
        alike,
        gain,
        uses,
        problems,
        _kind(loop, layers, shape, problems, gain),
        bodies_of(loop, layers, alike, shape, body),
        each_once(
            (
                *changed,
                *(Obligation(Shows.BODY, text, loop.place) for text in shape.obligations),
                *body.obligations,
                *(Obligation(Shows.BODY, text, loop.place) for text in _collected_objects(project, body)),
                *(Obligation(Shows.LAYERS, text, loop.place) for text in other_lengths(project, loop, layers, shape)),
                *(Obligation(Shows.COST, text, loop.place) for text in round_trips(shape)),
            )
        ),
        trees,
    )


def _collected_objects(project: ProjectFacts, body: LoopObligations) -> Iterator[str]:
    """Yield the conditions on collected objects: unlike modules, they have to be registered as pytrees."""
    for _, _, value in body.ys:
        for each in parts_of(value):
            if isinstance(each, Object) and not project.classes.is_module(each.cls):
                yield f"`{each.cls.name}`, of which each layer returns an object, is registered as a pytree"


def _with_types(project: ProjectFacts, loop: Loop, shape: LoopShape, body: LoopObligations) -> LoopShape:
    """Mark the xs that are modules, and those that are single arrays."""

    def holds_modules(walk: Walk) -> bool:
        if any(isinstance(each, Object | LibraryObject) for each in options(body.beside.get(walk))):
            return True
        found = layer_list(project, loop, walk)
        return found is not None and bool(found.classes)

    first = len(shape.xs) - len(shape.beside)
    xs = [
        replace(
            xs,
            layers=holds_modules(walk),
            array=isinstance(body.sources.get(walk), Array) and walk.beside == ast.unparse(walk.base),
        )
        for xs, walk in zip(shape.xs[first:], shape.beside, strict=True)
    ]
    return replace(shape, xs=(*shape.xs[:first], *xs)) if xs else shape


def _problems(
    project: ProjectFacts, loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations
) -> Iterator[Reason]:
    module = loop.module
    package = module.name.partition(".")[0]
    if package in _BELOW:
        text = f"the rewrite would import `scanify`, which imports `{package}` itself"
        yield "SCN212", text, None, "leave this loop as it is"
    around = module.span(loop.scope.function.node)
    for site in layers.sites:
        inside = site.place.path == module.path and around.start < site.place.span.start < around.end
        if inside and site.place.span.end > loop.place.span.start:
            yield "SCN212", f"the loop runs before `{layers.name}` is finished", site.place
    for each in shape.problems:
        yield each.rule, each.reason, _place(loop, each.node), each.remedy
    for text, place in body.effects.items():
        yield "SCN207", text, place
    yield from _not_carried(project, loop, shape, body)
    yield from iterator_problems(loop, layers, shape, body)
    for node in nodes_in(*loop.body):
        if isinstance(node, ast.Call) and called(node) == "super" and not node.args:
            yield "SCN212", _SUPER, _place(loop, node)


def _not_carried(project: ProjectFacts, loop: Loop, shape: LoopShape, body: LoopObligations) -> Iterator[Reason]:
    """Yield the carries that a scan cannot carry, and the results that it cannot collect."""
    for name, test in shape.concretized:
        if any(isinstance(each, Static) for each in parts_of(body.starts.get(name, Nothing()))):
            text = f"`{loop.code(test)}` needs the value of `{name}`, a Python number that goes from layer to layer"
            yield "SCN208", f"{text}; in a scan it is a tracer", _place(loop, test)
    for name in dict.fromkeys((*body.starts, *body.results)):
        place = _place(loop, shape.names.read_first.get(name, loop.node))
        for option in options(body.starts.get(name)):
            if isinstance(option, Function | LibraryFunction | Mapped):
                yield "SCN206", f"`{name}` is a function that each layer makes another one of", place
        value = body.results.get(name)
        if name in shape.last and not _holds_arrays(value):
            text = f"`{name}` is read after the loop, and is not shown to be an array, which a scan could return"
            yield "SCN209", text, _place(loop, shape.read_after[name])
    for name, node, value in body.ys:
        start = f"`{name}` collects" if name else "this returns"
        for each in (*options(value), *parts_of(value)):
            if isinstance(each, Function | Mapped) or (isinstance(each, Items) and each.kind == "iterator"):
                what = "an iterator" if isinstance(each, Items) else "a function"
                yield "SCN206", f"{start} {what} for each layer; a scan collects arrays", _place(loop, node)


def _holds_arrays(value: Type | None) -> bool:
    """True for arrays, and for results of operations that are obligations already."""
    return all(isinstance(each, Array) or (isinstance(each, Unknown) and each.noted) for each in options(value))


def _place(loop: Loop, node: ast.AST) -> Place | None:
    return loop.module.place(node) if hasattr(node, "lineno") else None


def _kind(loop: Loop, layers: LayerList, shape: LoopShape, problems: tuple[Reason, ...], gain: Gain) -> Kind:
    """Return the kind of a loop: a group if the source shows that the layers are only partly alike."""
    if loop.element is not None or shape.only_sums or not shape.carry:
        return Kind.MAP  # independent layers, however their results are used
    own = [each for made in layers.made for each in made.arguments if each.varies > Varies.KEY]
    unlike = gain.refusal is not None and gain.refusal[0] in ("SCN202", "SCN203")
    few = any(each.varies is Varies.FEW for each in own)
    if len(layers.classes) > 1 or unlike or few or (own and gain.undecided is not None):
        return Kind.GROUP
    return Kind.SCAN if shape.collections or "SCN206" in {each[0] for each in problems} else Kind.FOLD
