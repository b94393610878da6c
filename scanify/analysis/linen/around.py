"""What the body of a loop uses beside its layers that `nn.scan` does not let in: variables of other modules."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.statements import assignments, value_given
from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.linen.classes import LinenClasses
from scanify.analysis.linen.loop import LinenLoop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.plan import BEYOND_THE_TARGET

Reason = tuple[str, str, ast.AST | None, str]
_MOVE = "move it into the layer, or out of the loop"


def used_beside(classes: LinenClasses, owner: Definition, seen: LinenLoop, shape: LoopShape) -> Iterator[Reason]:
    """Why a body cannot be the body of `nn.scan`, which lifts the variables of the layers alone."""
    loop = seen.loop
    fields = classes.classes.fields(owner)
    own = loop.scope.self_name
    lists = set(nodes_in(seen.layer.source)) if seen.layer is not None else set()
    for node in (each for statement in loop.body for each in nodes_in(statement) if each not in lists):
        if isinstance(node, ast.Name) and node.id == own:
            above = parent_of(loop.module, node)
            if not isinstance(above, ast.Attribute):
                text = f"the body hands on `{own}`, whose variables a scan over its layers does not have"
                yield BEYOND_THE_TARGET, text, node, _MOVE
            elif above.attr not in fields and _is_called(loop.module, above):
                text = f"the body calls `{own}.{above.attr}`, whose variables a scan over the layers does not have"
                yield BEYOND_THE_TARGET, text, above, _MOVE
        elif isinstance(node, ast.Name) and node.id in shape.broadcast and _is_module(classes, seen, node.id):
            text = f"the body applies `{node.id}`, a module whose variables a scan over the layers does not have"
            yield BEYOND_THE_TARGET, text, node, _MOVE


def _is_called(module: Module, node: ast.AST) -> bool:
    above = parent_of(module, node)
    return isinstance(above, ast.Call) and above.func is node


def _is_module(classes: LinenClasses, seen: LinenLoop, name: str) -> bool:
    """Whether a name of the function is given a module."""
    function = seen.loop.scope.function
    body = getattr(function.node, "body", None)
    if not isinstance(body, list):
        return False
    values = (value for each in assignments(body, name) for value in value_given(each, name))
    return any(classes.built(function, value) is not None for value in values)
