"""Decide on a plan or a refusal for one loop over modules of Flax Linen."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.round_trips import round_trips
from scanify.analysis.flow.shape import LoopShape, shape_of
from scanify.analysis.index.meaning import Definition
from scanify.analysis.linen.against import reasons_against
from scanify.analysis.linen.loop import LinenLoop, Reason, UnreadLoop
from scanify.analysis.linen.names import named_elsewhere, renamed_layers
from scanify.analysis.linen_layers import LinenLayers, LinenModule, RenamedLayers
from scanify.analysis.lower.body_place import body_place
from scanify.analysis.lower.text import code
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import BEYOND_THE_TARGET, Framework, Kind, Plan, Refusal
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import CallStack


def decide_linen(project: ProjectFacts, owner: Definition, seen: LinenLoop | UnreadLoop) -> Plan | Refusal:
    """Return the decision about one loop."""
    if isinstance(seen, UnreadLoop):
        return _refusal(seen, None, seen.reason)
    shape = shape_of(seen.loop, seen.walk)
    reason = next(reasons_against(project, owner, seen, shape), None)
    if reason is not None:
        return _refusal(seen, shape, reason)
    names = renamed_layers(project, owner, seen)
    if not isinstance(names, RenamedLayers):
        return _refusal(seen, shape, (BEYOND_THE_TARGET, *names, 'give each layer a name: `name=f"layer_{i}"`'))
    return _plan(project, seen, shape, names)


def _refusal(seen: LinenLoop | UnreadLoop, shape: LoopShape | None, reason: Reason) -> Refusal:
    rule, text, node, remedy = reason
    return Refusal(
        place=seen.loop.place,
        rule=rule,
        reason=text,
        kind=_kind(shape),
        container=seen.container,
        carry=shape.carry if shape is not None else (),
        xs=shape.xs if shape is not None else (),
        broadcast=shape.broadcast if shape is not None else (),
        ys=shape.ys if shape is not None else (),
        at=seen.loop.module.place(node) if node is not None and hasattr(node, "lineno") else None,
        remedy=remedy,
    )


def _kind(shape: LoopShape | None) -> Kind:
    return Kind.SCAN if shape is not None and shape.collections else Kind.FOLD


def _plan(project: ProjectFacts, seen: LinenLoop, shape: LoopShape, names: RenamedLayers) -> Plan:
    loop, module, layers = seen.loop, seen.loop.module, seen.layers
    site = module.place(layers.site) if layers.site is not None else None
    built = LinenModule(module.code(layers.built.call.func), tuple(_arguments(seen, names)), site)
    return Plan(
        place=loop.place,
        kind=_kind(shape),
        container=seen.container,
        layer=code(module, seen.walk.target),
        carry=shape.carry,
        body=body_place(loop),
        stack=CallStack(),
        xs=shape.xs,
        broadcast=shape.broadcast,
        ys=tuple(each.name for each in shape.collections),
        call=shape.call,
        taken=project.index.words(module.path),
        obligations=tuple(_obligations(project, seen, shape, names)),
        rule="SCN105" if shape.collections else "SCN101",
        collections=shape.collections,
        unset=shape.unset,
        replaced=loop.replaced,
        exits=shape.exit_words,
        framework=Framework.LINEN,
        linen=LinenLayers(names, built, module.code(layers.count), seen.held, layers.built.remat),
    )


def _arguments(seen: LinenLoop, names: RenamedLayers) -> Iterator[str]:
    """Yield the arguments of the single module: those of a layer, and its name unless an attribute names it."""
    for argument in seen.layers.built.arguments:
        value = seen.loop.module.code(argument.value if isinstance(argument, ast.keyword) else argument)
        named = f"{argument.arg}=" if isinstance(argument, ast.keyword) and argument.arg is not None else ""
        spread = "**" if isinstance(argument, ast.keyword) and not named else ""
        yield f"{named}{spread}{value}"
    if "." not in seen.held:
        yield f'name="{names.scan}"'


def _obligations(
    project: ProjectFacts, seen: LinenLoop, shape: LoopShape, names: RenamedLayers
) -> Iterator[Obligation]:
    place, before = seen.loop.place, names.loop.format(names.first)
    renamed = (
        f"the parameters of `{before}`, ... are given as those of `{names.scan}`, which Flax initialises with other "
        "keys, and random streams may be other ones"
    )
    yield Obligation(Shows.BODY, renamed, place)
    pure = f"applying `{seen.layers.built.name}` has no side effects but on its variables"
    yield Obligation(Shows.BODY, pure, place)
    yield from (Obligation(Shows.BODY, text, place) for text in shape.obligations)
    yield from (Obligation(Shows.COST, text, place) for text in round_trips(shape))
    for text, other in named_elsewhere(project.index, names, seen):
        said = f"{other}: `{text}` is no layer's name in a tree of variables, which `{names.scan}` then is"
        yield Obligation(Shows.ELSEWHERE, said, other)
