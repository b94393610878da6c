"""Of which framework the modules are that a loop applies: what becomes of them is another thing in each."""

import ast
import re
from collections.abc import Set as AbstractSet

from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.loops.lists.layer_list import Layers
from scanify.analysis.loops.stack import Refused, StackChoice
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.plan import BEYOND_THE_TARGET, CallStack, Framework
from scanify.analysis.values.classes import Classes, dotted


def framework(classes: Classes, layers: Layers) -> Framework:
    """The framework of the layers: Flax NNX if one of them is of it, or the object that holds them."""
    found = [one.cls for one in layers.classes]
    if layers.owner is not None:
        found.append(layers.owner)
    return Framework.NNX if any(map(classes.is_nnx, found)) else Framework.EQUINOX


def in_call_alone(choice: StackChoice) -> CallStack | Refused:
    """Modules of Flax NNX are objects that others may hold, too: their list stays, and is stacked in the call."""
    if choice == "init":
        reason = "a list of modules of Flax NNX stays as it is and is stacked in the call"
        return Refused(BEYOND_THE_TARGET, reason, None)
    return CallStack("it holds modules of Flax NNX, which keep their state")


def of_shared_objects(fact: LoopFact) -> tuple[str, ...]:
    """What is taken of the objects that a loop over modules of Flax NNX uses beside its layers.

    A variable that a layer writes to and that is read elsewhere would be read as it was before the loop, and a stream
    of random numbers that is given to all layers cannot be counted on from inside of a scan.
    """
    loop = fact.loop
    known = {loop.scope.self_name, *fact.shape.broadcast} - {None}
    parts = [part for node in loop.body for part in nodes_in(node)]
    called = (root for part in parts if isinstance(part, ast.Call) and (root := _root(part.func, known)))
    read = (root for part in parts if _of_variable(part) and (root := _root(part, known)))
    layers = loop.code(fact.layers.walk.base)
    streams = dict.fromkeys(_stream(part, known) for part in parts)
    return (
        *(
            f"no variable that the layers in `{layers}` write to is one of `{name}`, too"
            for name in dict.fromkeys((*called, *read))
        ),
        *(f"no layer writes to `{name}`, which the loop gives to all of them" for name in streams if name),
    )


_RNGS = re.compile(r"(^|_)rngs?$")


def _of_variable(node: ast.AST) -> bool:
    """Whether this is how the value of a variable is read: `mean[...]`, `mean.value`."""
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
