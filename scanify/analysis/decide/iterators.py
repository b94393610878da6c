"""Iterators in the head of a loop: a scan takes their length, and all of their elements."""

import ast
from collections.abc import Iterator

from scanify.analysis.facts import Place
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.language.loop import LoopObligations
from scanify.analysis.language.types import Array, Items, Type, options
from scanify.analysis.lists.layer_list import LayerList, Reason
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors


def iterator_problems(loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations) -> Iterator[Reason]:
    """Yield why a scan cannot take the elements of a container of the head as the loop does."""
    for walk in shape.beside:
        yield from _beside(loop, walk, body.sources.get(walk))
    base = layers.walk.base
    if not isinstance(base, ast.Name) or layers.walk.source is not base:
        return
    if any(isinstance(each, Items) and each.kind == "iterator" for each in options(body.sources.get(layers.walk))):
        place = loop.module.place(base)
        counts = loop.index is not None and (shape.index is not None or loop.index.first is not None)
        if counts or any(walk.element is not None for walk in shape.beside):
            yield "SCN213", f"`{base.id}` may be an iterator, which has no length", place
        elif shape.beside and _is_read_again(loop, base):
            yield "SCN213", f"`{base.id}` may be an iterator, of which nothing may be left", place


def _beside(loop: Loop, walk: Walk, source: Type | None) -> Iterator[Reason]:
    place = (
        loop.module.place(walk.source) if hasattr(walk.source, "lineno") else Place(loop.module.path, loop.place.span)
    )
    if walk.via == "iter" and not all(_is_container(each) for each in options(source)):
        text = f"`{loop.code(walk.base)}` may be an iterator: a scan takes all of it, the loop what it needs"
        yield "SCN213", text, place
    if walk.element is not None or walk.beside.startswith("list("):
        return
    for option in options(source):
        if isinstance(option, Items) and option.kind == "dict" and walk.order.value == "whole":
            text = f"the dict `{loop.code(walk.source)}` is walked beside the layers: that gives its keys"
            yield "SCN213", text, place
        elif isinstance(option, Items) and option.kind == "iterator":
            text = f"`{loop.code(walk.source)}` may be an iterator, which is walked once; a scan needs a list there"
            yield "SCN213", text, place


def _is_container(value: Type) -> bool:
    return isinstance(value, Array) or (isinstance(value, Items) and value.kind != "iterator")


def _is_read_again(loop: Loop, base: ast.Name) -> bool:
    """True if the iterator may be used up before the loop: there is another use of it, or a loop around this one."""
    function = loop.scope.function.node
    mentions = [each for each in nodes_in(function) if isinstance(each, ast.Name) and each.id == base.id]
    around = any(isinstance(each, ast.For | ast.While) for each in ancestors(loop.module, loop.node))
    return around or len(mentions) > 2
