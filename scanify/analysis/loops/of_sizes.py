"""Maps that compute nothing of their layers: states that are made of sizes, `[cell.zeros(8) for cell in cells]`."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.names import target_names
from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.lists.layer_list import Layers
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import Const, Instance, Number, Text, options
from scanify.analysis.values.named_code import FunctionNode
from scanify.analysis.values.run.interpreter import Interpreter

_NUMBERS = ("int", "float", "bool", "str")
_SIZES = ("shape", "ndim", "size", "dtype")


def made_of_sizes(run: Interpreter, loop: Loop, layers: Layers) -> bool:
    """Whether what a map gives of a layer is a method's that reads its numbers alone, which are those of all layers.

    There is no array of the layers to be mapped over then: a stack would only be taken apart for nothing.
    """
    call = loop.element
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not layers.known:
        return False
    names = set(target_names(layers.walk.target))
    given = [*call.args, *(each.value for each in call.keywords)]
    mentioned = {each.id for value in given for each in nodes_in(value) if isinstance(each, ast.Name)}
    if dotted(call.func.value) not in names or mentioned & set(loop.targets):
        return False
    return bool(layers.classes) and all(_reads_numbers(run, each, call.func.attr) for each in layers.classes)


def _reads_numbers(run: Interpreter, layer: Instance, name: str) -> bool:
    """Whether a method reads nothing of its object but numbers, texts and the sizes of arrays."""
    if not isinstance(layer.cls, Definition) or run.classes.heirs(layer.cls):
        return False
    found = run.classes.method(layer.cls, name)
    if found is None or found[1].decorator_list:
        return False
    function = found[1]
    args = [*function.args.posonlyargs, *function.args.args]
    read = list(_parts(function, args[0].arg)) if args else []
    return bool(read) and all(_is_number(run, layer, each) for each in read)


def _parts(function: FunctionNode, me: str) -> Iterator[list[str]]:
    """The parts of its object that a method reads: `["conv", "weight", "shape"]`; `[]` is the object itself."""
    inner = {id(each.value) for each in nodes_in(function) if isinstance(each, ast.Attribute)}
    for node in nodes_in(function):
        text = dotted(node) if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner else None
        if text is not None and text.partition(".")[0] == me:
            yield text.split(".")[1:]


def _is_number(run: Interpreter, layer: Instance, path: list[str]) -> bool:
    if any(name in _SIZES for name in path[1:]):
        return True
    owner = layer
    for at, name in enumerate(path):
        field = run.classes.fields(owner.cls).get(name) if isinstance(owner.cls, Definition) else None
        values = list(options(owner.fields[name])) if name in owner.fields else []
        if at == len(path) - 1:
            said = field is not None and dotted(field.statement.annotation) in _NUMBERS
            return said or (bool(values) and all(isinstance(each, Number | Text | Const) for each in values))
        inner = [each for each in values if isinstance(each, Instance)]
        if len(inner) != 1 or len(values) != 1:
            return False
        owner = inner[0]
    return False
