"""Whether one body can be applied to all layers of a loop: what shows that it cannot, and what leaves it open."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.starts import may_begin_as_none
from scanify.analysis.loops.lists.layer_list import Layers
from scanify.analysis.loops.lists.layers import walked_values
from scanify.analysis.lower.loop import Form, Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import Bodies
from scanify.analysis.values.code.annotations import key_name
from scanify.analysis.values.domain import Array, Const, Instance, Key, Listed, Number, Text, Value, options
from scanify.analysis.values.heap import DictCell, ListCell
from scanify.analysis.values.objects.likeness import is_layer
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def bodies_of(
    run: Interpreter,
    loop: Loop,
    layers: Layers,
    shape: LoopShape,
    starts: dict[str, list[Value]],
    envs: Sequence[Env],
) -> Bodies:
    """What speaks against one body for all layers; the number of a layer does not, which is an array then."""
    several = next(_several(run, loop, layers, shape, starts, envs), None)
    doubts = tuple(dict.fromkeys((*_doubts(loop, shape, starts), *_of_others(run, loop, shape, envs))))
    return Bodies(several, None if several else layers.unlike, () if several else doubts)


def _several(
    run: Interpreter,
    loop: Loop,
    layers: Layers,
    shape: LoopShape,
    starts: dict[str, list[Value]],
    envs: Sequence[Env],
) -> Iterator[str]:
    """Why no one body can be applied to all layers."""
    if layers.refusal is not None:
        yield layers.refusal[1]
    if layers.unlike is not None and _surely_unlike(layers):
        yield layers.unlike
    if shape.ends_early:
        yield "this loop may end before its last layer"
    for name, values in starts.items():
        if key_name(name):
            continue
        if values and all(_is_none(value) for value in values):
            yield f"`{name}`, which goes from one to the next, begins as None"
        elif any(isinstance(option, Text) for value in values for option in options(value)):
            yield f"`{name}`, which goes from one to the next, is a text"
    if _branches_beside(loop, shape):
        yield "the loop asks for the value of what it walks beside the layers"
    if any(_walks_numbers(run, walk, envs) for walk in shape.beside):
        yield "Python numbers are walked beside the layers, and may be used as sizes or axes"
    if _collects_numbers(run, loop, shape, envs) and not layers.trees:
        yield "what is collected has the names or the numbers that are walked beside the layers"


def _surely_unlike(layers: Layers) -> bool:
    """Whether layers differ however the model is made: a choice of a class for all of them is none."""
    state = layers.grouped is not None and "its own index" in layers.grouped
    mixed = len(layers.classes) > 1 and layers.grouped is not None
    return layers.several or layers.functions or mixed or state


def _is_none(value: Value) -> bool:
    return all(isinstance(option, Const) and option.value is None for option in options(value))


def _doubts(loop: Loop, shape: LoopShape, starts: dict[str, list[Value]]) -> Iterator[str]:
    """What must hold of the carries for one body to fit: that the first layer is given what each of them gives on."""
    within = loop.form is Form.REDUCE
    for name in shape.carry:
        key, values = key_name(name), starts.get(name, ())
        if not key and (may_begin_as_none(loop, name) or any(_otherwise(value, within) for value in values)):
            yield f"`{name}` has the structure before the loop that each layer gives it, and may begin as None"
        elif name in shape.last:
            yield f"`{name}` has the shape and the dtype before the loop that each layer gives it"


def _otherwise(value: Value, within: bool = False) -> bool:
    for option in options(value):
        if isinstance(option, Text) or (
            isinstance(option, Const) and (option.value is None or isinstance(option.value, str))
        ):
            return True
        if within and (isinstance(option, Const | Number) or (isinstance(option, Array) and option.numpy)):
            return True
        if isinstance(option, Listed) and any(_otherwise(group.element, True) for group in option.cell.groups):
            return True
    return False


def _branches_beside(loop: Loop, shape: LoopShape) -> bool:
    """Whether the body branches on what is walked beside the layers: then it holds Python values, no arrays."""
    names = {each.id for walk in shape.beside for each in nodes_in(walk.target) if isinstance(each, ast.Name)}
    return any(name in names for name, _ in shape.concretized)


def _of_others(run: Interpreter, loop: Loop, shape: LoopShape, envs: Sequence[Env]) -> Iterator[str]:
    """What must hold of further lists of modules that are walked beside the layers, which may differ, too."""
    for walk in shape.beside:
        if walks_layers(run, walk, envs):
            yield f"one body fits all layers in `{loop.code(walk.source)}`, too"


def walks_layers(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> bool:
    """Whether a walk goes over modules, as far as the source shows what it goes over."""
    for value in walked_values(run, walk, envs):
        cell = getattr(value, "cell", None)
        if isinstance(cell, ListCell | DictCell):
            elements = [group.element for group in cell.groups]
            elements += list(cell.entries.values()) if isinstance(cell, DictCell) else []
            if any(is_layer(run, option) for each in elements for option in options(each)):
                return True
    return False


def _walks_numbers(run: Interpreter, walk: Walk, envs: Sequence[Env]) -> bool:
    """Whether what is walked holds numbers of Python's: `zip(layers, self.strides)`, `zip(layers, levels)`."""
    cells = (getattr(value, "cell", None) for value in walked_values(run, walk, envs))
    elements = (group.element for cell in cells if isinstance(cell, ListCell) for group in cell.groups)
    return any(_holds_number(run, element) for element in elements)


def _holds_number(run: Interpreter, value: Value, seen: frozenset[int] = frozenset()) -> bool:
    """Whether a value is a number or a text, or an object or a tuple with one in it; a module has bodies of its own."""
    for option in options(value):
        if isinstance(option, Number | Text) or (isinstance(option, Const) and option.value is not None):
            return True
        plain = isinstance(option, Instance) and not is_layer(run, option)
        held = list(option.fields.values()) if plain else []  # type: ignore[union-attr]
        if isinstance(option, Listed):
            held = [group.element for group in option.cell.groups]
        place = id(getattr(option, "fields", getattr(option, "cell", option)))
        if place not in seen and any(_holds_number(run, each, seen | {place}) for each in held):
            return True
    return False


def _collects_numbers(run: Interpreter, loop: Loop, shape: LoopShape, envs: Sequence[Env]) -> bool:
    """Whether equal layers may still collect different things: by name, or numbers that are walked beside them."""
    if not shape.collections:
        return False
    if shape.collected.keyed:
        return True
    return any(not all(isinstance(value, Key) for value in walked_values(run, walk, envs)) for walk in shape.beside)
