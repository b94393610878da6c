"""From one loop over modules of Flax Linen to a plan or a refusal."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.round_trips import round_trips
from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.index.meaning import Definition
from scanify.analysis.linen.around import used_beside
from scanify.analysis.linen.built_layers import BuiltLayers
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.list_uses import lengths, other_uses
from scanify.analysis.linen.loop import LinenLoop
from scanify.analysis.linen.names import named_elsewhere, renamed_layers
from scanify.analysis.linen_layers import LinenLayers, LinenModule, RenamedLayers
from scanify.analysis.lower.body_place import body_place
from scanify.analysis.lower.loop import Loop, Order
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import code
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import BEYOND_THE_TARGET, Framework, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack

_FEW = 3  # fewer layers than these gain nothing
Reason = tuple[str, str, ast.AST | None, str]


def decide_linen(classes: LinenClasses, owner: Definition, seen: LinenLoop) -> Plan | Refusal:
    """The decision about one loop."""
    loop = seen.loop
    if seen.layer is None or seen.layers is None:
        assert seen.unread is not None
        text, node = seen.unread
        remedy = "keep the loop" if seen.rule == "SCN203" else "make one module of what one iteration does"
        return _refusal(seen, None, (seen.rule, text, node, remedy))
    shape = shape_of(loop, seen.layer)
    reason = next(_against(classes, owner, seen, seen.layers, shape), None)
    if reason is not None:
        return _refusal(seen, shape, reason)
    names = renamed_layers(classes, owner, seen.layers, seen.held)
    if not isinstance(names, RenamedLayers):
        return _refusal(seen, shape, (BEYOND_THE_TARGET, *names, 'give each layer a name: `name=f"layer_{i}"`'))
    return _plan(classes, owner, seen, seen.layers, shape, names)


def _against(
    classes: LinenClasses, owner: Definition, seen: LinenLoop, layers: BuiltLayers, shape: LoopShape
) -> Iterator[Reason]:
    """What speaks against a scan."""
    loop, module = seen.loop, layers.scope.module
    for problem in shape.problems:
        yield problem.rule, problem.reason, problem.node, problem.remedy
    if layers.own is not None:
        text = f"each layer is built with its own value of `{module.code(layers.own)}`"
        yield "SCN203", text, layers.own, "keep the loop"
    count = layers.counted
    if isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value < _FEW:
        yield "SCN203", f"there are {count.value} layers, of which a scan saves nothing", count, "keep the loop"
    if seen.layer is not None and seen.held and not _whole(seen):
        text = f"the loop walks `{loop.code(seen.layer.source)}`, and a scan is over all layers in their order"
        yield BEYOND_THE_TARGET, text, seen.layer.source, "keep the loop"
    if seen.held and "." in seen.held and not _known_outside(layers.counted):
        text = f"the number of layers, `{module.code(count)}`, is a name of the function that builds the list"
        yield BEYOND_THE_TARGET, text, count, "make it a field of the module"
    if not shape.carry:
        yield "SCN210", "no value goes from one layer to the next", loop.node, "keep the loop"
    yield from used_beside(classes, owner, seen, shape)
    yield from other_uses(classes, owner, seen)


def _whole(seen: LinenLoop) -> bool:
    walk, layers = seen.layer, seen.layers
    assert walk is not None and layers is not None
    if walk.order is Order.NUMBERED:
        return walk.numbers in (None, f"range({layers.scope.module.code(layers.counted)})")
    return walk.order is Order.WHOLE and len(walk.bases) == 1


def _known_outside(count: ast.expr) -> bool:
    """Whether an expression means the same in another method: it asks the module, and constants."""
    names = [node.id for node in nodes_in(count) if isinstance(node, ast.Name)]
    return all(name == "self" or name == "len" or name.isupper() for name in names)


def _refusal(seen: LinenLoop, shape: LoopShape | None, reason: Reason) -> Refusal:
    rule, text, node, remedy = reason
    loop = seen.loop
    return Refusal(
        place=loop.place,
        rule=rule,
        reason=text,
        kind=_kind(shape),
        container=_container(seen),
        carry=shape.carry if shape is not None else (),
        xs=shape.xs if shape is not None else (),
        broadcast=shape.broadcast if shape is not None else (),
        ys=shape.ys if shape is not None else (),
        at=loop.module.place(node) if node is not None and hasattr(node, "lineno") else None,
        remedy=remedy,
    )


def _kind(shape: LoopShape | None) -> Kind:
    return Kind.SCAN if shape is not None and shape.collections else Kind.FOLD


def _container(seen: LinenLoop) -> str:
    return seen.held or ", ".join(each.name for each in seen.builds)


# -- the plan --------------------------------------------------------------------------------------------------------


def _plan(
    classes: LinenClasses,
    owner: Definition,
    seen: LinenLoop,
    layers: BuiltLayers,
    shape: LoopShape,
    names: RenamedLayers,
) -> Plan:
    loop, module = seen.loop, seen.loop.module
    assert seen.layer is not None
    obligations = (
        Obligation(Shows.BODY, _other_keys(names), loop.place),
        Obligation(Shows.BODY, _pure(loop, layers), loop.place),
        *(Obligation(Shows.BODY, text, loop.place) for text in shape.obligations),
        *(Obligation(Shows.COST, text, loop.place) for text in round_trips(shape)),
        *_watched(classes, layers, names),
    )
    return Plan(
        place=loop.place,
        kind=_kind(shape),
        container=_container(seen),
        layer=code(module, seen.layer.target),
        carry=shape.carry,
        body=body_place(loop),
        stack=CallStack(),
        xs=shape.xs,
        broadcast=shape.broadcast,
        ys=tuple(each.name for each in shape.collections),
        call=shape.call,
        taken=classes.index.words(module.path),
        obligations=obligations,
        notes=shape.notes,
        rule="SCN105" if shape.collections else "SCN101",
        collections=shape.collections,
        unset=shape.unset,
        replaced=loop.replaced,
        exits=shape.exit_words,
        framework=Framework.LINEN,
        linen=LinenLayers(
            names,
            _built(seen, layers, names),
            module.code(layers.counted),
            seen.held,
            tuple(map(module.place, lengths(owner, seen.held))) if "." in seen.held else (),
            layers.built.remat,
        ),
    )


def _built(seen: LinenLoop, layers: BuiltLayers, names: RenamedLayers) -> LinenModule:
    module = seen.loop.module
    site = module.place(layers.site) if layers.site is not None else None
    builds = module.code(layers.built.call.func)
    return LinenModule(builds, tuple(_arguments(seen, layers, names)), site)


def _arguments(seen: LinenLoop, layers: BuiltLayers, names: RenamedLayers) -> Iterator[str]:
    """What the one module is built with: the arguments of a layer, and its name unless an attribute gives it."""
    call, module = layers.built.call, seen.loop.module
    for argument in call.args:
        yield module.code(argument)
    for keyword in call.keywords:
        if keyword.arg != "name":
            value = module.code(keyword.value)
            yield f"{keyword.arg}={value}" if keyword.arg is not None else f"**{value}"
    if "." not in seen.held:
        yield f'name="{names.scan}"'


def _other_keys(names: RenamedLayers) -> str:
    return (
        f"the parameters of `{names.loop.format(names.first)}`, ... are given as those of `{names.scan}`, which Flax "
        "initialises with other keys, and random streams may be other ones"
    )


def _pure(loop: Loop, layers: BuiltLayers) -> str:
    return f"applying `{layers.built.name}` has no side effects but on its variables"


def _watched(classes: LinenClasses, layers: BuiltLayers, names: RenamedLayers) -> Iterator[Obligation]:
    """Other code that has the names of the layers, which it may look for in the tree."""
    seen = set()
    for text, place in named_elsewhere(classes.index, names, layers):
        if place.path not in seen:
            seen.add(place.path)
            said = f"{place}: `{text}` is no layer's name in a tree of variables, which `{names.scan}` then is"
            yield Obligation(Shows.ELSEWHERE, said, place)
