"""Iterators that a body takes one element of in each iteration, `next(keys)`, as things that are walked in step:

keys = iter(jax.random.split(key, n))
for layer in self.layers:
    x = layer(x, key=next(keys))
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.lower.definite import definitely_evaluated
from scanify.analysis.lower.head import HeadReader
from scanify.analysis.lower.loop import Form, Loop, Walk
from scanify.analysis.lower.rebuild import Change, rebuilt
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.lower.text import made, only_argument, singular, unused


def taking_next(loop: Loop, reader: HeadReader) -> Loop:
    """The loop with the iterators that it takes from as walks of their own; as it is where there are none."""
    if loop.problem is not None or loop.form not in (Form.FOR, Form.WHILE) or "next(" not in loop.module.text:
        return loop
    definite = definitely_evaluated(loop.body)
    for call in list(_nexts(loop, reader)):
        name = only_argument(call)
        assert isinstance(name, ast.Name)
        walked = _walked(loop, reader, name, call)
        if call not in definite or walked is None:
            continue
        used = {each.id for each in ast.walk(loop.scope.function.node) if isinstance(each, ast.Name)}
        used |= set(loop.targets) | set(loop.scope.function.params)
        element = unused(singular(name.id, "this_"), used)
        body, replaced = rebuilt(loop.module, loop.body, [Change(call, element)])
        every = tuple(sorted((*loop.replaced, *replaced), key=lambda each: (each.start, each.end)))
        target, text = made(ast.Name(element, ast.Store()), call), f"list({name.id})"
        walk = Walk(target, name, walked, text, text, text, via="next", cut=True)
        loop = replace(loop, body=body, replaced=every, walks=(*loop.walks, walk))
    return loop


def _nexts(loop: Loop, reader: HeadReader) -> Iterator[ast.Call]:
    for statement in loop.body:
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Call)
                and reader.builtin(node) == "next"
                and isinstance(only_argument(node), ast.Name)
            ):
                yield node


def _walked(loop: Loop, reader: HeadReader, name: ast.Name, call: ast.Call) -> ast.expr | None:
    """What an iterator walks that one statement in front of the loop makes, and that nothing but one call takes from.

    What is left of it when the loop ends is then read by nobody.
    """
    function = loop.scope.function.node
    if not isinstance(function, FUNCTIONS) or loop.scope.function.binding(name.id) is not loop.scope.function:
        return None
    places = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id == name.id]
    stores = [each for each in places if isinstance(each.ctx, ast.Store)]
    if len(places) != 2 or len(stores) != 1 or name.id in loop.scope.function.params:
        return None
    statement = parent_of(loop.module, stores[0])
    value = statement.value if isinstance(statement, ast.Assign) and statement.targets == stores else None
    if reader.builtin(value) != "iter" or not isinstance(value, ast.Call) or statement is None:
        return None
    around = [each for each in ancestors(loop.module, call) if isinstance(each, ast.For | ast.While)]
    scopes = [each for each in ancestors(loop.module, call) if isinstance(each, (ast.Lambda, *FUNCTIONS))]
    if around[:1] != [loop.node] or scopes[:1] != [function]:
        return None
    loops = [each for each in ancestors(loop.module, statement) if isinstance(each, ast.For | ast.While)]
    return only_argument(value) if around[1:] == loops else None
