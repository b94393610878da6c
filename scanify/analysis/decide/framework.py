"""The framework of the modules that a loop applies, and what must hold of objects that layers of Flax NNX share."""

import ast
import re
from collections.abc import Set as AbstractSet

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted
from scanify.analysis.plan import Framework
from scanify.analysis.project_facts import ProjectFacts

_RNGS = re.compile(r"(^|_)rngs?$")


def framework_of(project: ProjectFacts, layers: LayerList) -> Framework:
    """Return Flax NNX if one of the layers is of it, or the object that holds them; else Equinox."""
    found = [*layers.classes, *([layers.owner] if layers.owner is not None else [])]
    return Framework.NNX if any(map(project.classes.is_nnx, found)) else Framework.EQUINOX


def shared_objects(loop: Loop, layers: LayerList, shape: LoopShape) -> tuple[str, ...]:
    """Return what must hold of the objects that a loop over modules of Flax NNX uses besides its layers.

    A variable that a layer writes to and that is read elsewhere would be read as it was before the loop, and a stream
    of random numbers that is passed to all layers cannot be counted on from inside of a scan.
    """
    known = {loop.scope.self_name, *shape.broadcast} - {None}
    parts = [part for node in loop.body for part in nodes_in(node)]
    called = (root for part in parts if isinstance(part, ast.Call) and (root := _root(part.func, known)))
    read = (root for part in parts if _of_variable(part) and (root := _root(part, known)))
    name_of_layers = loop.code(layers.walk.base)
    streams = dict.fromkeys(_stream(part, known) for part in parts)
    return (
        *(
            f"no variable that the layers in `{name_of_layers}` write to is one of `{name}`, too"
            for name in dict.fromkeys((*called, *read))
        ),
        *(f"no layer writes to `{name}`, which the loop gives to all of them" for name in streams if name),
    )


def _of_variable(node: ast.AST) -> bool:
    """True if the value of a variable is read: `mean[...]`, `mean.value`."""
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ("value", "raw_value"))


def _root(node: ast.AST, known: AbstractSet[str | None]) -> str | None:
    """The name that a chain of attributes and items begins with, if it is one of these."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) and node.id in known else None


def _stream(node: ast.AST, known: AbstractSet[str | None]) -> str | None:
    """`self.rngs`: an attribute that is called as streams of random numbers are."""
    if not isinstance(node, ast.Attribute) or not _RNGS.search(node.attr) or _root(node, known) is None:
        return None
    return dotted(node)
