"""Iterators in the head of a loop: a scan takes their length, and all of their elements."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.language.loop import LoopObligations
from scanify.analysis.language.types import Array, Items, Static, options
from scanify.analysis.lists.layer_list import LayerList, Reason
from scanify.analysis.lower.loop import Loop, Order


def iterator_problems(loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations) -> Iterator[Reason]:
    """Yield why a scan cannot take the elements of a container of the head as the loop does."""
    for walk in shape.beside:
        place = loop.module.place(walk.source) if hasattr(walk.source, "lineno") else loop.place
        code = loop.code(walk.source)
        for option in options(body.sources.get(walk)):
            kind = option.kind if isinstance(option, Items) else "" if isinstance(option, Array) else "unknown"
            if walk.via == "iter" and kind in ("iterator", "unknown"):
                text = f"`{loop.code(walk.base)}` may be an iterator: a scan takes all of it, the loop what it needs"
                yield "SCN213", text, place
            elif walk.element is not None or walk.beside.startswith("list("):
                continue
            elif kind == "dict" and walk.order is Order.WHOLE:
                yield "SCN213", f"the dict `{code}` is walked beside the layers: that gives its keys", place
            elif kind == "iterator":
                text = f"`{code}` may be an iterator, which is walked once; a scan needs a list there"
                yield "SCN213", text, place
            elif kind == "set" or isinstance(option, Static):
                text = f"`{code}` is a text, a number or without an order; a scan needs an array or a list there"
                yield "SCN213", text, place
    base, found = layers.walk.base, options(body.sources.get(layers.walk))
    alone = not shape.beside and loop.index is None
    if alone or not isinstance(base, ast.Name) or layers.walk.source is not base:
        return
    if any(isinstance(each, Items) and each.kind == "iterator" for each in found):
        text = f"`{base.id}` may be an iterator, which has no length and may be used up"
        yield "SCN213", text, loop.module.place(base)
