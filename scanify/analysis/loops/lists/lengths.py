"""Lengths: what is walked beside the layers and is shown to have another number of elements than there are layers.

The loop ends with the shortest, or asks an iterator for no more than it needs. A scan takes as many as there are
layers, and raises where it does not find them.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

from scanify.analysis.flow.beside import may_be_shorter
from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.loops.lists.counted import counted
from scanify.analysis.loops.lists.layer_list import Layers
from scanify.analysis.loops.lists.layers import walked_values
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.values.domain import Array, Key, Listed, Value, Walked, options
from scanify.analysis.values.heap import ListCell
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.run.probe import again

_ITERATORS = "list("  # what an iterator over a list is walked as: `list(iter(xs))`


def other_lengths(run: Interpreter, loop: Loop, layers: Layers, shape: LoopShape, envs: Sequence[Env]) -> Iterator[str]:
    """What has to be checked: that there are as many layers as elements in what has a length that is shown."""
    layer = layers.walk
    counts = {cell.length() if isinstance(cell, ListCell) else None for cell in layers.cells}
    for walk in shape.beside:
        if _is_other_part(walk, layer):
            yield f"`{loop.code(walk.source)}` has as many elements as `{loop.code(layer.source)}`, another part of it"
        elif _is_compared(walk) and may_be_shorter(loop, walk.source) and not layer.in_part:
            yield f"`{loop.code(walk.source)}` has as many keys as there are layers, though their number is computed"
        elif _is_compared(walk) and not layer.in_part:
            values = list(walked_values(run, walk, envs))
            yield from _differing(f"`{ast.unparse(walk.base)}`", values, counts)
            yield from _counted_otherwise(f"`{ast.unparse(walk.base)}`", values, layers)
    if shape.index is not None and shape.index.numbers is not None and not layer.in_part:
        numbers = shape.index.numbers
        with run.question(), run.recording():
            values = [option for env in envs for option in options(again(run, env, numbers))]
        yield from _differing(f"`{ast.unparse(numbers)}`", values, counts)


def _is_compared(walk: Walk) -> bool:
    """Whether all of a container is walked beside the layers, for as long as there are layers."""
    drawn = walk.beside.startswith(_ITERATORS)
    return drawn or (walk.cut and walk.order in (Order.WHOLE, Order.REVERSED))


def _is_other_part(walk: Walk, layer: Walk) -> bool:
    """Whether two parts of one list are walked: `zip(layers, layers[1:])`."""
    if not walk.cut or ast.unparse(walk.base) != ast.unparse(layer.base):
        return False
    return (walk.in_part or layer.in_part) and ast.unparse(walk.source) != ast.unparse(layer.source)


def _differing(name: str, values: Iterable[Value], counts: set[int | None]) -> Iterator[str]:
    known = {count for value in values if (count := _length(value)) is not None}
    for count in sorted(known - counts)[:1]:
        yield f"{name} has {count} element{'s' * (count != 1)}, and as many layers are not shown"


def _counted_otherwise(name: str, values: Iterable[Value], layers: Layers) -> Iterator[str]:
    """A list of `n - 1` beside one of `n` layers, both made by one function."""
    mine = [found for cell in layers.cells if isinstance(cell, ListCell) and (found := counted(cell)) is not None]
    others = [counted(each.cell) for each in values if isinstance(each, Listed)]
    for other in others:
        layer = next((each for each in mine if other is not None and other.differs(each)), None)
        if layer is not None:
            yield f"{name} is made with `{other}` elements, and the list of layers with `{layer}`"
            return


def _length(value: Value) -> int | None:
    """How many elements are walked, where that is known."""
    if isinstance(value, Listed):
        return value.cell.length()
    if isinstance(value, Key):
        return value.count if value.many else None
    if isinstance(value, Array):
        return value.rows
    if isinstance(value, Walked) and value.kind == "range":
        return value.count
    return _length(value.parts[0]) if isinstance(value, Walked) and len(value.parts) == 1 else None
