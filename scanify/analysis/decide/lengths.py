"""Lengths: what is walked beside the layers and may have another number of elements than there are layers.

The loop ends with the shortest, or asks an iterator for no more than it needs. A scan takes as many as there are
layers, and raises if it does not find them.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.beside import may_be_shorter
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.lists.home import Home
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lists.lengths import length_of
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.project_facts import ProjectFacts

_ITERATORS = "list("  # what an iterator over a list is walked as: `list(iter(xs))`


def other_lengths(project: ProjectFacts, loop: Loop, layers: LayerList, shape: LoopShape) -> Iterator[str]:
    """Yield what has to be checked: that there are as many layers as elements in what has a length that is shown."""
    layer, home = layers.walk, home_of(project, loop.module, loop.node)
    count = layers.made[0].count if len(layers.made) == 1 else None
    for walk in shape.beside:
        if _is_other_part(walk, layer):
            yield f"`{loop.code(walk.source)}` has as many elements as `{loop.code(layer.source)}`, another part of it"
        elif _is_compared(walk) and may_be_shorter(loop, walk.source) and not layer.in_part:
            yield f"`{loop.code(walk.source)}` has as many keys as there are layers, though their number is computed"
        elif _is_compared(walk) and not layer.in_part:
            yield from _of_another_length(home, walk.base, count)
    if loop.index is not None and loop.index.numbers is not None and layer.element is None and not layer.in_part:
        yield from _of_another_length(home, loop.index.numbers, count)


def _of_another_length(home: Home, node: ast.expr, count: str | None) -> Iterator[str]:
    known = length_of(home, node) or ""
    if known.isdecimal() and known != count:
        yield f"`{ast.unparse(node)}` has {known} element{'s' * (known != '1')}, and as many layers are not shown"
    elif isinstance(node, ast.Attribute) and count is not None and known.startswith(f"{count} "):
        yield f"`{ast.unparse(node)}` is made with `{known}` elements, and the list of layers with `{count}`"


def _is_compared(walk: Walk) -> bool:
    """True if all of a container is walked beside the layers, for as long as there are layers."""
    return walk.beside.startswith(_ITERATORS) or (walk.cut and walk.order in (Order.WHOLE, Order.REVERSED))


def _is_other_part(walk: Walk, layer: Walk) -> bool:
    """True if two parts of one list are walked: `zip(layers, layers[1:])`."""
    if not walk.cut or ast.unparse(walk.base) != ast.unparse(layer.base):
        return False
    return (walk.in_part or layer.in_part) and ast.unparse(walk.source) != ast.unparse(layer.source)
