"""One loop over modules, with everything that is known of it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from scanify.analysis.alike.alike import Alike, homogeneity
from scanify.analysis.alike.gain import Gain, gain_of
from scanify.analysis.classes.classes import dotted
from scanify.analysis.classes.nnx import PACKAGE
from scanify.analysis.decide.bodies import bodies_of
from scanify.analysis.decide.iterators import iterator_problems
from scanify.analysis.decide.lengths import other_lengths
from scanify.analysis.facts import Place
from scanify.analysis.flow.round_trips import round_trips
from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.language.constructor import obligations_of
from scanify.analysis.language.loop import LoopObligations, understood
from scanify.analysis.language.shapes import RESIZED
from scanify.analysis.language.types import (
    Applied,
    Array,
    Function,
    Given,
    LibraryFunction,
    LibraryObject,
    Object,
    Static,
    Type,
    options,
    parts_of,
)
from scanify.analysis.lists.find import layer_list, layers_of
from scanify.analysis.lists.layer_list import LayerList, Reason, Varies
from scanify.analysis.lower.loop import Loop, Problem, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import called
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation, each_once
from scanify.analysis.plan import Bodies, Kind
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.uses.of_list import uses_of
from scanify.analysis.uses.use import Uses

_REGISTER = "register `{cls}` (`jax.tree_util.register_dataclass`), or make it an `equinox.Module`"
_SUPER = "`super()` without arguments does not work in the function of a scan"


@dataclass(frozen=True, eq=False)
class LoopFact:
    """What a loop over modules is: its layers, its shape, what its body does, and what speaks against a scan.

    `problems` are in the order in which they are reported. `trees` is true of layers that are trees of arrays.
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


def fact_of(
    project: ProjectFacts, loop: Loop, layers: LayerList | None = None, *, trees: bool = False
) -> LoopFact | None:
    """Return what is known of a loop, whose layers may be known already; None if it is not over modules."""
    layers = layers or layers_of(project, loop)
    if layers is None:
        return None
    shape = shape_of(loop, layers.walk)
    if not shape.applies_layer:
        return None
    uses = uses_of(project, layers)
    if uses.changes is not None and layers.attribute is not None:
        text = f"{uses.changes.what}: then other layers may be in `{layers.name}`"
        layers = replace(layers, open=(*layers.open, Obligation(Shows.ELSEWHERE, text, uses.changes.place)))
    body = understood(project, loop, shape, () if layers.several else [each.cls for each in layers.made], trees=trees)
    shape = _with_types(project, loop, shape, body)
    alike = Alike(unlike="trees of arrays may differ") if trees else homogeneity(project, layers, obligations_of)
    gain = Gain() if trees else gain_of(project, layers)
    problems = tuple(_problems(project, loop, layers, shape, body))
    grouped = _grouped(loop, layers, shape, body)
    return LoopFact(
        loop,
        layers,
        shape,
        body,
        alike,
        gain,
        uses,
        problems,
        _kind(loop, layers, shape, grouped, problems, gain),
        bodies_of(loop, layers, alike, shape, body),
        each_once(
            (
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
    """What must hold of collected objects: jax finds the arrays in modules, and in no objects of other classes."""
    for _, _, value in body.ys:
        for each in parts_of(value):
            if isinstance(each, Object) and not project.classes.is_module(each.cls):
                yield f"`{each.cls.name}`, of which each layer returns an object, is registered as a pytree"


def _with_types(project: ProjectFacts, loop: Loop, shape: LoopShape, body: LoopObligations) -> LoopShape:
    """The shape, which also tells of what is walked beside the layers what is modules and what is one array."""

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
    for each in shape.problems:
        yield each.rule, _reason(loop, layers, each), _place(loop, each.node), each.remedy
    for each in _not_carried(project, loop, shape, body):
        yield each.rule, each.reason, _place(loop, each.node), each.remedy
    yield from iterator_problems(loop, layers, shape, body)
    for text, place in body.effects.items():
        yield "SCN207", text, place
    for statement in loop.body:
        for node in nodes_in(statement):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "super"
                and not node.args
            ):
                yield "SCN212", _SUPER, _place(loop, node)


def _not_carried(project: ProjectFacts, loop: Loop, shape: LoopShape, body: LoopObligations) -> Iterator[Problem]:
    """Carries that no scan can carry: functions, and what a body returns instead of arrays."""
    for name, start in body.starts.items():
        for option in options(start):
            if isinstance(option, Function | LibraryFunction | Applied):
                reason = f"`{name}` is a function that each layer makes another one of"
                yield Problem("SCN206", reason, shape.names.read_first.get(name, loop.node))
            elif isinstance(option, Object) and project.classes.is_opaque(option.cls):
                cls = option.cls.name
                reason = (
                    f"`{name}` is a `{cls}`, which is no pytree: a scan carries arrays and what jax finds arrays in"
                )
                yield Problem("SCN206", reason, shape.names.read_first.get(name, loop.node), _REGISTER.format(cls=cls))
        for made in shape.starts.get(name, ()):
            if (called(made) or "").rpartition(".")[2] in ("ShapeDtypeStruct", "eval_shape", "filter_eval_shape"):
                yield Problem(
                    "SCN206", f"`{name}` is a shape without an array", made, "keep the loop: it computes shapes"
                )
    for name, value in body.results.items():
        if all(isinstance(each, Array) and (each.shape or "").endswith(RESIZED) for each in options(value)):
            reason = f"`{name}` has another size after each layer: a part of it goes on, or more behind it"
            yield Problem("SCN216", reason, shape.names.read_first.get(name, loop.node))
        if any(_is_nnx(project, each) for each in parts_of(value)):
            reason = f"`{name}` is an object of Flax NNX after each layer; a scan carries arrays"
            yield Problem("SCN206", reason, shape.names.read_first.get(name, loop.node))
    for name, node, value in body.ys:
        what = f"`{name}` collects" if name else "this returns"
        if any(isinstance(each, Function | Applied) for each in parts_of(value)):
            yield Problem("SCN206", f"{what} a function for each layer; a scan collects arrays", node)
        if any(_is_nnx(project, each) for each in parts_of(value)):
            yield Problem("SCN206", f"{what} an object of Flax NNX for each layer; a scan collects arrays", node)


def _is_nnx(project: ProjectFacts, value: Type) -> bool:
    """True of modules, variables and streams of Flax NNX, which jax does not take for arrays."""
    own = isinstance(value, Object) and project.classes.is_nnx(value.cls)
    return own or (isinstance(value, LibraryObject) and value.qualname.startswith(PACKAGE))


def _reason(loop: Loop, layers: LayerList, problem: Problem) -> str:
    """The reason of a problem; layers of a dict are taken by name, which the lowering does not know."""
    if problem is not loop.problem or not layers.of_dict or problem.rule != "SCN208":
        return problem.reason
    what = f"`{loop.module.code(problem.node)}` may be missing in some iterations"
    return f"the layers are taken from a dict by name, and {what}"


def _place(loop: Loop, node: ast.AST) -> Place | None:
    return loop.module.place(node) if hasattr(node, "lineno") else None


def _kind(
    loop: Loop, layers: LayerList, shape: LoopShape, grouped: str | None, problems: tuple[Reason, ...], gain: Gain
) -> Kind:
    rules = {each[0] for each in problems}
    if loop.element is not None or shape.only_sums or not shape.carry:
        return Kind.MAP  # independent layers, whatever is done with what they return
    own = any(argument.varies > Varies.KEY for made in layers.made for argument in made.arguments)
    unlike = gain.refusal is not None and gain.refusal[0] in ("SCN202", "SCN203")
    if grouped is not None or unlike or (own and gain.undecided is not None):
        return Kind.GROUP
    return Kind.SCAN if shape.collections or "SCN206" in rules else Kind.FOLD


# -- equal in parts --------------------------------------------------------------------------------------------------


def _grouped(loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations) -> str | None:
    """Why the layers are equal only in parts; None if nothing shows that."""
    if any(_is_state(each) for start in body.starts.values() for each in parts_of(start)):
        return "an `equinox.nn.State` goes through the layers"
    branch = _branching(loop, shape)
    if branch is not None:
        return branch
    if len(layers.classes) > 1:
        return "the layers are of different classes"
    if any(argument.varies > Varies.KEY and argument.few for made in layers.made for argument in made.arguments):
        return "the layers are built with values of their own"
    return None


def _is_state(value: object) -> bool:
    return isinstance(value, LibraryObject) and value.qualname == "equinox.nn.State"


def _branching(loop: Loop, shape: LoopShape) -> str | None:
    """The branch of a body on the class of its layer, or on its index in what it returns; None if there is none."""
    index = {each.id for each in nodes_in(loop.index.target) if isinstance(each, ast.Name)} if loop.index else set()
    layers = set(shape.layer_names)
    for statement in loop.body:
        for node in nodes_in(statement):
            asked = node.args[:1] if isinstance(node, ast.Call) and dotted(node.func) == "isinstance" else []
            if asked and isinstance(asked[0], ast.Name) and asked[0].id in layers:
                return f"the body asks for the class of `{asked[0].id}`"
            branches = isinstance(node, ast.If | ast.IfExp) and _compares(node.test, index)
            if branches and (isinstance(node, ast.IfExp) or (isinstance(node, ast.If) and _hands_on(node, shape))):
                return "the body branches on the layer's index"
    return None


def _compares(test: ast.AST, index: set[str]) -> bool:
    """True if a condition orders, counts or divides one of some names: `i < n - 1`, `i % 2`, `not i`."""
    if isinstance(test, ast.Name):
        return test.id in index
    if isinstance(test, ast.Compare):
        by_object = any(isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in test.ops)
        return not by_object and _reads(test, index)
    if isinstance(test, ast.BinOp):
        return isinstance(test.op, ast.Mod) and _reads(test, index)
    if isinstance(test, ast.Call | ast.Subscript):
        return False
    return any(_compares(child, index) for child in ast.iter_child_nodes(test))


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in nodes_in(node))


def _hands_on(node: ast.If, shape: LoopShape) -> bool:
    for each in nodes_in(node):
        if isinstance(each, ast.Return | ast.Break | ast.Continue):
            return True
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id in shape.carry:
            return True
    return False


_ = (Given, Static)
