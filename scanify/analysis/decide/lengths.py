"""Lengths: what is walked beside the layers and may have another number of elements than there are layers.

The loop ends with the shortest, or asks an iterator for no more than it needs. A scan takes as many as there are
layers, and raises if it does not find them.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.beside import may_be_shorter
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.language.loop import LoopObligations
from scanify.analysis.language.types import Items, options
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lower.loop import Loop, Order, Walk

_ITERATORS = "list("  # what an iterator over a list is walked as: `list(iter(xs))`


def other_lengths(loop: Loop, layers: LayerList, shape: LoopShape, body: LoopObligations) -> Iterator[str]:
    """Yield what has to be checked: that there are as many layers as elements in what has a length that is shown."""
    layer = layers.walk
    counts = [each.count or ("1" if not each.repeated else None) for each in layers.made]
    count = _total(counts)
    for walk in shape.beside:
        if _is_other_part(walk, layer):
            yield f"`{loop.code(walk.source)}` has as many elements as `{loop.code(layer.source)}`, another part of it"
        elif _is_compared(walk) and may_be_shorter(loop, walk.source) and not layer.in_part:
            yield f"`{loop.code(walk.source)}` has as many keys as there are layers, though their number is computed"
        elif _is_compared(walk) and not layer.in_part:
            for option in options(body.sources.get(walk)):
                known = len(option.parts) if isinstance(option, Items) and option.parts is not None else None
                if known is not None and known != count:
                    name = f"`{ast.unparse(walk.base)}`"
                    yield f"{name} has {known} element{'s' * (known != 1)}, and as many layers are not shown"


def _total(counts: list[str | None]) -> int | None:
    if not counts or not all(each is not None and each.isdecimal() for each in counts):
        return None
    return sum(int(each) for each in counts if each is not None)


def _is_compared(walk: Walk) -> bool:
    """True if all of a container is walked beside the layers, for as long as there are layers."""
    return walk.beside.startswith(_ITERATORS) or (walk.cut and walk.order in (Order.WHOLE, Order.REVERSED))


def _is_other_part(walk: Walk, layer: Walk) -> bool:
    """True if two parts of one list are walked: `zip(layers, layers[1:])`."""
    if not walk.cut or ast.unparse(walk.base) != ast.unparse(layer.base):
        return False
    return (walk.in_part or layer.in_part) and ast.unparse(walk.source) != ast.unparse(layer.source)
