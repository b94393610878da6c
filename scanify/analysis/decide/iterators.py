"""Iterators in the head of a loop: a scan takes their length, and all of their elements."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.language.loop import LoopObligations
from scanify.analysis.language.types import Array, Items, Static, options
from scanify.analysis.lists.layer_list import LayerList, Reason
from scanify.analysis.lower.loop import Loop, Order

_NOT_IN_ORDER = {
    "dict": "is a dict, which gives its keys",
    "iterator": "may be an iterator, which is walked once",
    "set": "has no order",
    "plain": "is a text or a number",
}


def iterator_problems(loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations) -> Iterator[Reason]:
    """Yield why a scan cannot take the elements of a container of the head as the loop does."""
    for walk in shape.beside:
        place = loop.module.place(walk.source) if hasattr(walk.source, "lineno") else loop.place
        code = loop.code(walk.source)
        for option in options(body.sources.get(walk)):
            kind = option.kind if isinstance(option, Items) else "" if isinstance(option, Array) else "unknown"
            kind = "plain" if isinstance(option, Static) else kind
            if walk.via == "iter" and kind in ("iterator", "plain", "unknown"):
                text = f"`{loop.code(walk.base)}` may be an iterator: a scan takes all of it, the loop what it needs"
                yield "SCN213", text, place
            elif walk.element is not None or walk.beside.startswith("list("):
                continue
            elif kind in _NOT_IN_ORDER and (kind != "dict" or walk.order is Order.WHOLE):
                yield "SCN213", f"`{code}` {_NOT_IN_ORDER[kind]}; a scan needs an array or a list there", place
    base, found = layers.walk.base, options(body.sources.get(layers.walk))
    alone = not shape.beside and loop.index is None
    if alone or not isinstance(base, ast.Name) or layers.walk.source is not base:
        return
    if any(isinstance(each, Items) and each.kind == "iterator" for each in found):
        text = f"`{base.id}` may be an iterator, which has no length and may be used up"
        yield "SCN213", text, loop.module.place(base)
