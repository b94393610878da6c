"""Calls that apply layers, `map(f, layers)` and `functools.reduce(f, layers, x)`: refused with advice."""

import ast

from scanify.analysis.index.module import Module
from scanify.analysis.lower.head import HeadReader
from scanify.analysis.lower.loop import Form, Loop, Problem
from scanify.analysis.lower.scope import Scope, adopt, parameters
from scanify.analysis.lower.text import made

_REMEDIES = {"map": "write it as a comprehension: `[layer(x) for layer in layers]`", "reduce": "write it as a `for`"}


def call_lowered(module: Module, scope: Scope, call: ast.Call) -> Loop | None:
    """Return a call of `map` or `reduce` as a loop with a problem; None for other calls."""
    reader = HeadReader(module, scope)
    name = "reduce" if scope.qualified(call.func) == "functools.reduce" else reader.builtin(call)
    if name not in _REMEDIES or len(call.args) < 2 or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    function, *lists = call.args
    names = ["carry", "layer"]
    given: list[ast.expr] = [made(ast.Name(each, ast.Load()), call) for each in names]
    value: ast.expr = made(ast.Call(function, given, []), call)
    if isinstance(function, ast.Lambda):
        names, value = [arg.arg for arg in parameters(function)], function.body
    elements = zip(names, lists, strict=False) if name == "map" else [(names[-1], lists[0])] if names else []
    walks = tuple(walk for target, each in elements for walk in reader.read(_name(target, call), each).walks)
    update: ast.stmt = ast.Expr(value) if name == "map" else ast.Assign([_name(names[0], call)], value)
    adopt(module, ast.copy_location(update, value), call)
    return Loop(
        module,
        scope,
        Form.CALL,
        call,
        module.place(call),
        call,
        walks,
        None,
        (update,),
        element=value if name == "map" else None,
        problem=Problem("SCN213", f"the layers are applied by `{name}`", call, _REMEDIES[name]),
    )


def _name(name: str, call: ast.Call) -> ast.Name:
    return made(ast.Name(name, ast.Store()), call)
