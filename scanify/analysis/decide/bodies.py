"""Whether one body fits all layers of a loop: the reasons why it does not, and the conditions that stay open."""

import ast
from collections.abc import Iterator

from scanify.analysis.alike.alike import Alike
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.language.constructor import is_key_name
from scanify.analysis.language.loop import LoopObligations
from scanify.analysis.language.types import Array, Items, LibraryFunction, Nothing, Static, Type, options
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Bodies


def bodies_of(loop: Loop, layers: LayerList, alike: Alike, shape: LoopShape, body: LoopObligations) -> Bodies:
    """Return the reasons against one body for all layers. A scan can pass the layer number as an array."""
    several = next(_several(layers, alike, shape, body), None)
    doubts = tuple(dict.fromkeys(_doubts(loop, shape, body)))
    return Bodies(several, None if several else alike.unlike, () if several else doubts)


def _several(layers: LayerList, alike: Alike, shape: LoopShape, body: LoopObligations) -> Iterator[str]:
    """Yield the reasons why no single body can be applied to all layers."""
    if alike.refusal is not None:
        yield alike.refusal[1]
    if alike.unlike is not None and len(layers.classes) > 1:
        yield alike.unlike
    if shape.ends_early:
        yield "this loop may end before its last layer"
    for name, start in body.starts.items():
        if isinstance(start, Nothing) and not is_key_name(name):
            yield f"`{name}`, which goes from one to the next, begins as None"
    beside = {each.id for walk in shape.beside for each in nodes_in(walk.target) if isinstance(each, ast.Name)}
    if any(name in beside for name, _ in shape.concretized):
        yield "the loop asks for the value of what it walks beside the layers"
    if any(_holds(body.beside.get(walk), Static, LibraryFunction) for walk in shape.beside):
        yield "Python numbers are walked beside the layers, and may be used as sizes or axes"
    if shape.collected.keyed:
        yield "what is collected has the names or the numbers that are walked beside the layers"


def _doubts(loop: Loop, shape: LoopShape, body: LoopObligations) -> Iterator[str]:
    """Yield the conditions for one body: the other xs are arrays, and carries start in the form that layers return."""
    for name in shape.carry:
        start = body.starts.get(name)
        numbers = any(_holds(each, Static) for each in options(start) if isinstance(each, Items))
        if not is_key_name(name) and (numbers or _holds(start, Nothing)):
            yield f"`{name}` has the structure before the loop that each layer gives it, and may begin as None"
        elif name in shape.last:
            yield f"`{name}` has the shape and the dtype before the loop that each layer gives it"
    first = len(shape.xs) - len(shape.beside)
    for xs, walk in zip(shape.xs[first:], shape.beside, strict=True):
        value, keys = body.beside.get(walk), isinstance(walk.base, ast.Name) and is_key_name(walk.base.id)
        if shape.collections and not (isinstance(value, Array) and (value.certain or keys)):
            yield f"`{loop.code(walk.source)}` holds arrays, and no numbers that are collected again"
        if xs.layers:
            yield f"one body fits all layers in `{loop.code(walk.source)}`, too"


def _holds(value: Type | None, *types: type[Type]) -> bool:
    """True if a value may have one of some types, or be a container that holds one."""
    for option in options(value):
        if isinstance(option, types):
            return True
        if isinstance(option, Items) and any(_holds(part, *types) for part in option.parts or (option.each,)):
            return True
    return False
