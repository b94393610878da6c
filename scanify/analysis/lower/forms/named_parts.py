"""A body that names the parts of what it gives, as the one expression that they are:

for layer in self.layers:
    hidden = layer(x)
    outs.append(jnp.tanh(hidden))
"""

import ast
from dataclasses import replace

from scanify.analysis.flow.around import read_after
from scanify.analysis.flow.definite import definitely_evaluated
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import children, mentions, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of

_MOST = 4  # parts that become one expression: more read better as statements
_LONGEST = 160  # characters of a part
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.ListComp, ast.DictComp)
_LATER = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.GeneratorExp, ast.Lambda, ast.Starred)
_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)


def in_one_expression(loop: Loop) -> Loop:
    """The loop with the parts of its last statement in the places of their names, where nothing else reads those.

    It does not matter which part is evaluated first: what has side effects is no scan, in whatever order.
    """
    if not 1 < len(loop.body) <= _MOST + 1:
        return loop
    inlined = loop
    while len(inlined.body) > 1:
        part, *rest = inlined.body
        name, value = _named(part)
        if (
            name is None
            or value is None
            or name in loop.targets
            or any(isinstance(each, _LATER) for each in nodes_in(value))
        ):
            return loop
        places = mentions(name, *rest)
        text = inlined.code(value)
        if len(places) != 1 or _read_elsewhere(loop, name) or mentions(name, value) or len(text) > _LONGEST:
            return loop
        place = places[0]
        if not isinstance(place.ctx, ast.Load) or place not in definitely_evaluated(rest) or _in_lambda(loop, place):
            return loop
        if not _stands_alone(loop, place, value):
            text = f"({text})"
        body, replaced = rebuilt(loop.module, rest, [Change(place, text, instead=value)])
        every = sorted((*inlined.replaced, *replaced), key=lambda each: (each.start, each.end))
        inlined = replace(inlined, body=body, replaced=tuple(every))
    return inlined


def _read_elsewhere(loop: Loop, name: str) -> bool:
    """Whether code after the loop may read what the loop leaves in a name, or a function that sees it."""
    scope = loop.scope.function
    if name in scope.globals or isinstance(scope.node, ast.Module) or name in read_after(loop):
        return True
    inner = (each for each in nodes_in(*children(scope.node)) if isinstance(each, _SCOPES))
    return any(mentions(name, each) for each in inner)


def _named(part: ast.AST) -> tuple[str | None, ast.expr | None]:
    match part:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value, simple=1):
            return name, value
        case _:
            return None, None


def _in_lambda(loop: Loop, place: ast.Name) -> bool:
    """Whether an expression would be evaluated where a lambda is called, among the parameters of that."""
    return any(
        isinstance(above, ast.Lambda) for above in ancestors(loop.module, place) if above in nodes_in(*loop.body)
    )


def _stands_alone(loop: Loop, place: ast.Name, value: ast.expr) -> bool:
    """Whether an expression can stand where a name stands as it is, without parentheses."""
    if isinstance(value, _ATOMS) or (isinstance(value, ast.Tuple) and loop.code(value).startswith("(")):
        return True
    above = parent_of(loop.module, place)
    alone = isinstance(above, ast.keyword) or (isinstance(above, ast.Call) and place in above.args)
    return alone and not isinstance(value, ast.Tuple)
