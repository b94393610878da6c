"""Whether a body applies what a walk goes over: calls it, walks it, or hands it to a call."""

import ast

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import given_to
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.classes import dotted


def applies(loop: Loop, walk: Walk) -> bool:
    """Whether the body calls what the target is bound to, a method of it, or hands it to a call."""
    names = _names_of(loop, walk)
    for node in loop.body:
        for each in nodes_in(node):
            if isinstance(each, ast.Call):
                if root_of(each.func) in names and (each.args or each.keywords or isinstance(each.func, ast.Attribute)):
                    return True
                given = [*each.args, *(keyword.value for keyword in each.keywords)]
                given += [part for one in given if isinstance(one, ast.Tuple) for part in one.elts]
                if any(isinstance(one, ast.Name | ast.Attribute) and root_of(one) in names for one in given):
                    return True
    return False


def applied_by_name(loop: Loop, walk: Walk) -> bool:
    """Whether the body itself calls what the target is bound to, or a part of it."""
    names = _names_of(loop, walk)
    calls = [each for node in loop.body for each in nodes_in(node) if isinstance(each, ast.Call)]
    return any(root_of(each.func) in names for each in calls) or (loop.problem is not None and walk.element is not None)


def _names_of(loop: Loop, walk: Walk) -> set[str]:
    """The names of an element and of its parts in the body: its targets, what is walked in it, what it is assigned to,
    as in `attn, mlp = layer.attn, layer.mlp`."""
    names = {each.id for each in nodes_in(walk.target) if isinstance(each, ast.Name)}
    names |= _walked_in(loop, names)
    for statement in (each for part in loop.body for each in nodes_in(part)):
        if isinstance(statement, ast.Assign):
            pairs = [pair for target in statement.targets for pair in given_to(target, statement.value)]
            names |= {name for target, value in pairs if _is_part(value, names) for name in target_names(target)}
    return names


def _is_part(value: ast.expr, names: set[str]) -> bool:
    """Whether a value is an element, a part of one, or a function that is made of one: `jax.checkpoint(layer)`."""
    if isinstance(value, ast.IfExp):
        return _is_part(value.body, names) or _is_part(value.orelse, names)
    if isinstance(value, ast.Call):
        return any(_is_part(each, names) for each in value.args)
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in names


def _walked_in(loop: Loop, names: set[str]) -> set[str]:
    """The targets of loops in the body that walk what some names hold."""
    found: set[str] = set()
    for statement in loop.body:
        for each in nodes_in(statement):
            if isinstance(each, ast.For | ast.comprehension) and any(
                isinstance(part, ast.Name) and part.id in names for part in nodes_in(each.iter)
            ):
                found |= {part.id for part in nodes_in(each.target) if isinstance(part, ast.Name)}
    return found


def walks_elements(loop: Loop, walk: Walk) -> bool:
    """Whether the body walks each element, itself or as a stack that was made of such a loop: `BlockSeq.of(stage)`."""
    names = {each.id for each in nodes_in(walk.target) if isinstance(each, ast.Name)}
    if _walked_in(loop, names):
        return True
    calls = (each for statement in loop.body for each in nodes_in(statement) if isinstance(each, ast.Call))
    return any(
        isinstance(each.func, ast.Attribute) and each.func.attr == "of" and each.args and root_of(each.args[0]) in names
        for each in calls
    )


def root_of(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def calls_itself(loop: Loop, walk: Walk) -> bool:
    """Whether the body calls an element itself, a method of it with arguments, or a stack made of what it holds."""
    names = _names_of(loop, walk)
    for node in loop.body:
        for each in nodes_in(node):
            if isinstance(each, ast.Call) and (each.args or each.keywords):
                func = each.func
                given = func.args if isinstance(func, ast.Call) else _stacked(func)
                if any((dotted(one) or "").partition(".")[0] in names for one in (func, *given)):
                    return True
    return False


def _stacked(func: ast.expr) -> list[ast.expr]:
    """What a stack is made of whose method is called: a loop within this one that was rewritten,
    `BlockSeq.of(stage).fold(x)`.
    """
    made = func.value if isinstance(func, ast.Attribute) else None
    named = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "of"
    return made.args if isinstance(made, ast.Call) and named else []
