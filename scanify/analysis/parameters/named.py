"""Whether what a loop walks is called parameters, by its own name, that of its elements, or that of their class.

A list of batches is walked and multiplied as a list of layers is: what one calls them tells them apart.
"""

import ast
import re

from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in

_PARAMETERS = frozenset(
    "param params parameter parameters weight weights layer layers block blocks stage stages theta thetas mlp mlps "
    "encoder decoder transformer".split()
)
_DATA = frozenset(
    "batch batches data dataset datasets loader example examples sample samples input inputs token tokens sequence "
    "sequences step steps epoch epochs config configs metric metrics state states grad grads gradient gradients update "
    "updates size sizes dim dims width widths feature features image images frame frames observation observations "
    "optimizer optimizers name names shape shapes history population candidates ensemble".split()
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def called_parameters(loop: Loop, walk: Walk) -> bool:
    """Whether something speaks for parameters, and nothing for data."""
    texts = [*_names(walk.base), *_names(walk.target), *_annotation(loop, walk)]
    last = {*_words(_last(walk.base)), *(word for text in _names(walk.target) for word in _words(text))}
    return not last & _DATA and any(word in _PARAMETERS for text in texts for word in _words(text))


def _words(text: str) -> list[str]:
    return [each.lower() for each in _WORD.findall(text)]


def _names(node: ast.AST) -> list[str]:
    found = []
    for each in nodes_in(node):
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.append(name)
    return found


def _last(node: ast.expr) -> str:
    """The last name of what is walked: `layers` of `params["layers"]` and of `weights.layers[1:]`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Subscript(value=inner):
            return _last(inner)
        case _:
            return ""


def _annotation(loop: Loop, walk: Walk) -> list[str]:
    """The names in the annotation of the parameter that is walked, or that holds what is."""
    root: ast.expr = walk.base
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    function = loop.scope.function.node if loop.scope.function is not None else None
    if not isinstance(root, ast.Name) or not isinstance(function, ast.FunctionDef):
        return []
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    named = [each.annotation for each in given if each.arg == root.id and each.annotation is not None]
    return [name for each in named for name in _names(each)]
