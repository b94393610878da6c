"""Whether the body of a loop applies what a walk goes over."""

import ast

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.statements import given_to
from scanify.analysis.lower.loop import Loop, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted, root


def applies(loop: Loop, walk: Walk) -> bool:
    """True if the body calls an element, a part or a method of it, or gives it to a call."""
    names = element_names(loop, walk)
    for call in _calls(loop):
        if root(call.func) in names and (call.args or call.keywords or isinstance(call.func, ast.Attribute)):
            return True
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        given += [part for each in given if isinstance(each, ast.Tuple) for part in each.elts]
        if any(isinstance(each, ast.Name | ast.Attribute) and root(each) in names for each in given):
            return True
    return loop.problem is not None and walk.element is not None  # what is taken by number still stands in the body


def calls_element(loop: Loop, walk: Walk) -> bool:
    """True if the body calls an element itself, a method of it, or a function made of one, with arguments."""
    names = element_names(loop, walk)
    for call in _calls(loop):
        if call.args or call.keywords:
            func = call.func
            called = [func, *func.args] if isinstance(func, ast.Call) else [func]
            if any((dotted(each) or "").partition(".")[0] in names for each in called):
                return True
    return False


def carries_through(loop: Loop, walk: Walk) -> bool:
    """True if the body gives an element itself the carry, and binds that: `x = layer(x)`."""
    names = set(target_names(walk.target)) if walk.element is None else set()
    bound = {each.id for each in nodes_in(*loop.body) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    for call in _calls(loop):
        own = isinstance(call.func, ast.Name) and call.func.id in names
        taken = walk.element is not None and ast.unparse(call.func) == ast.unparse(walk.element)
        if (own or taken) and any(isinstance(each, ast.Name) and each.id in bound for each in call.args):
            return True
    return False


def _calls(loop: Loop) -> list[ast.Call]:
    return [each for each in nodes_in(*loop.body) if isinstance(each, ast.Call)]


def element_names(loop: Loop, walk: Walk) -> set[str]:
    """Return the names of an element and of its parts in the body: `attn, mlp = layer.attn, layer.mlp`."""
    names = {each.id for each in nodes_in(walk.target) if isinstance(each, ast.Name)}
    for each in nodes_in(*loop.body):
        if isinstance(each, ast.For | ast.comprehension) and root(each.iter) in names:
            names |= set(target_names(each.target))
    for each in nodes_in(*loop.body):
        if isinstance(each, ast.Assign):
            pairs = [pair for target in each.targets for pair in given_to(target, each.value)]
            names |= {name for target, value in pairs if _is_part(value, names) for name in target_names(target)}
    return names


def _is_part(value: ast.expr, names: set[str]) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_part(value.body, names) or _is_part(value.orelse, names)
    if isinstance(value, ast.Call):
        return any(_is_part(each, names) for each in value.args)
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return isinstance(value, ast.Name) and value.id in names
