"""Of which framework the modules are that a loop applies: what becomes of them is another thing in each."""

import ast

from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.loops.layer_list import Layers
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
    """What is taken of the objects that a loop over modules of Flax NNX calls beside its layers.

    A variable that a layer writes to and that another object reads would be read as it was before the loop.
    """
    loop = fact.loop
    known = {loop.scope.self_name, *fact.shape.broadcast} - {None}
    calls = (part for node in loop.body for part in nodes_in(node) if isinstance(part, ast.Call))
    called = dict.fromkeys(name for each in calls if (name := (dotted(each.func) or "").partition(".")[0]) in known)
    layers = loop.code(fact.layers.walk.base)
    return tuple(f"no variable that the layers in `{layers}` write to is one of `{name}`, too" for name in called)
