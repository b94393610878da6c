"""Generators: what a function yields, as the elements of what a call of it gives."""

import ast
from collections.abc import Callable

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.methods import extend, grow
from scanify.analysis.values.domain import NONE, Listed, Unknown, Value, Walked
from scanify.analysis.values.heap import ListCell
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter


def generated(run: Interpreter, env: Env, function: ast.FunctionDef, body: Callable[[], object]) -> Value:
    """What a call of a generator function gives; `body` runs its code."""
    cell = ListCell(function, env.module, run.tick(), function=function)
    run.generating.append(cell)
    try:
        body()
    finally:
        run.generating.pop()
    if any(isinstance(node, ast.Return) for node in nodes_in(function)):  # it may end before the last of them
        cell.groups = [replace(group, count=None, conditional=True) for group in cell.groups]
    return Walked("iter", (Listed(cell),))


def note_yield(run: Interpreter, env: Env, node: ast.Yield | ast.YieldFrom, value: Value | None) -> Value:
    """Note what a `yield` gives to whoever walks the generator, and say what it is given itself."""
    if run.generating and isinstance(node, ast.Yield):
        grow(run, env, run.generating[-1], value if value is not None else NONE, node.value or node, node)
    elif run.generating and node.value is not None and value is not None:
        extend(run, env, run.generating[-1], value, node.value, node)
    return Unknown("what a generator is given")
