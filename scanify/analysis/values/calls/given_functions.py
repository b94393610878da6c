"""Builtins that call what they are given: `map`, `filter`, `iter` with an end, `sorted`, `min` and `max` with a key."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.values.domain import NONE, Key, Listed, Mapped, Unknown, Value, Walked, options
from scanify.analysis.values.heap import Does, Group, ListCell
from scanify.analysis.values.iterations.iteration import iterate
from scanify.analysis.values.marks import AN_ELEMENT
from scanify.analysis.values.objects.part import part_of
from scanify.analysis.values.objects.sharing import made_since
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]


def unknown_taker(run: Interpreter, env: Env, node: ast.AST, function: Value, walked: Sequence[Value]) -> None:
    """Note that a function which is not shown is given the elements of lists: it may ask which objects they are."""
    if any(isinstance(option, Unknown | Key) for option in options(function)):
        for option in (option for value in walked for option in options(value)):
            if isinstance(option, Listed | Mapped):
                run.use(option.cell, Does.PASS, node, env, env.code(node.func) if isinstance(node, ast.Call) else "map")


def mapped(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`map(function, xs)`: what the function gives for an element."""
    from scanify.analysis.values.calls.calls import call

    if len(positional) < 2:
        return Unknown("what `map` gives")
    unknown_taker(run, env, node, positional[0], positional[1:])
    loop = run.new_loop()
    steps = [iterate(run, env, value, loop, node, AN_ELEMENT) for value in positional[1:]]
    with run.region(loop, steps[0][1]):
        run.next_turn()
        element = call(run, env, node, positional[0], [one for one, _ in steps], {})
        own = made_since(run, element, run.regions[-1].turn)
    cell = ListCell(node, env.module, run.tick(), function=env.function)
    cell.groups = [Group(element, node, env.module, (loop,), steps[0][1], own=own, part=part_of(element))]
    return Listed(cell)


def filtered(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`filter(function, xs)`: the elements for which the function says so."""
    ask_of_each(run, env, node, positional[0] if positional else NONE, positional[1:])
    return Walked("filter", tuple(positional[1:2]))


def iterator(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`iter(xs)`, or `iter(read, end)`, which calls a function until it gives the end."""
    if len(positional) < 2:
        return Walked("iter", tuple(positional))
    from scanify.analysis.values.calls.calls import call

    loop = run.new_loop()
    with run.region(loop):
        element = call(run, env, node, positional[0], [], {})
    cell = ListCell(node, env.module, run.tick(), function=env.function)
    cell.groups = [Group(element, node, env.module, (loop,), None)]
    return Walked("iter", (Listed(cell),))


def ask_key(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> None:
    """Call what `sorted`, `min` and `max` are given as a key."""
    ask_of_each(run, env, node, named.get("key", NONE), positional)


def ask_of_each(run: Interpreter, env: Env, node: ast.AST, function: Value, walked: Sequence[Value]) -> None:
    """Call a function, where there is one, with an element of what is walked."""
    from scanify.analysis.values.calls.calls import call

    if function == NONE or not walked:
        return
    loop = run.new_loop()
    element, _ = iterate(run, env, walked[0], loop, node, AN_ELEMENT)
    with run.region(loop):
        call(run, env, node, function, [element], {})
