"""Calls that walk a list: `map(f, layers)` and `functools.reduce(f, layers, x)`.

A `reduce` is the loop `for layer in layers: x = f(x, layer)`: the carry is the function's first parameter, the layer
its second. What `zip` gives is a tuple: where a lambda takes that apart by number, its parts have names in the loop.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.flow.names import flow
from scanify.analysis.index.module import Module
from scanify.analysis.lower.forms.generators import walked_at_once
from scanify.analysis.lower.forms.rebuild import Change, rebuilt
from scanify.analysis.lower.head import HeadReader
from scanify.analysis.lower.loop import Form, Loop, Problem
from scanify.analysis.lower.nodes import mentions, names_in, nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Scope, adopt, parameters, parent_of
from scanify.analysis.lower.text import dotted, made, singular, unused

_REDUCES = ("functools.reduce",)


def call_lowered(module: Module, scope: Scope, call: ast.Call) -> Loop | None:
    """The loop that a call of `map` or `reduce` is; None for other calls."""
    reader = HeadReader(module, scope)
    if reader.builtin(call) == "map":
        return _map(module, scope, call, reader)
    return _reduce(module, scope, call, reader) if scope.qualified(call.func) in _REDUCES else None


# -- map -------------------------------------------------------------------------------------------------------------


def _map(module: Module, scope: Scope, call: ast.Call, reader: HeadReader) -> Loop | None:
    function, walked = call.args[0], call.args[1:]
    if not isinstance(function, ast.Lambda) or call.keywords or any(isinstance(each, ast.Starred) for each in walked):
        return None
    names = plain_parameters(function)
    if names is None or len(names) != len(walked) or not walked:
        return None
    targets = [made(ast.Name(arg.arg, ast.Store()), arg) for arg in names]
    target, source = _in_step(targets, walked, call)
    head = reader.read(target, source)
    node = _listed(module, call, reader)
    body = (_expression(module, function.body, node),)
    problem = head.problem
    if problem is None and node is call and not walked_at_once(module, scope, node):
        problem = Problem(
            "SCN213", "the `map` may be walked later, or not to its end", node, "make it a list: `list(map(...))`"
        )
    index = replace(head.index, read=True) if head.index is not None else None
    place = module.place(node)
    return Loop(
        module, scope, Form.MAP, node, place, target, head.walks, index, body, element=function.body, problem=problem
    )


def _in_step(targets: Sequence[ast.expr], walked: Sequence[ast.expr], like: ast.expr) -> tuple[ast.expr, ast.expr]:
    """A target and what it walks, for several things that end with the shortest."""
    if len(walked) == 1:
        return targets[0], walked[0]
    name = made(ast.Name("zip", ast.Load()), like)
    return made(ast.Tuple(list(targets), ast.Store()), like), made(ast.Call(name, list(walked), []), like)


def _expression(module: Module, value: ast.expr, parent: ast.AST) -> ast.Expr:
    statement = ast.copy_location(ast.Expr(value), value)
    adopt(module, statement, parent)
    return statement


def _listed(module: Module, call: ast.Call, reader: HeadReader) -> ast.Call:
    """The `list(...)` around a call, or the call itself."""
    above = parent_of(module, call)
    if isinstance(above, ast.Call) and reader.builtin(above) == "list" and above.args == [call] and not above.keywords:
        return above
    return call


def plain_parameters(function: ast.AST) -> tuple[ast.arg, ...] | None:
    """The parameters of a function that has positional ones alone, without defaults; None for another one."""
    args = function.args if isinstance(function, (ast.Lambda, *FUNCTIONS)) else None
    if args is None or args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
        return None
    return parameters(function)


# -- reduce ------------------------------------------------------------------------------------------------------------


def _reduce(module: Module, scope: Scope, call: ast.Call, reader: HeadReader) -> Loop | None:
    values = [*call.args, *(each.value for each in call.keywords)]  # Python 3.14 takes `initial` by keyword, too
    if len(call.args) < 2 or len(values) > 3 or any(isinstance(each, ast.Starred) for each in values):
        return None
    function, walked, start = [*values, None][:3]
    assert function is not None and walked is not None
    if isinstance(function, ast.Lambda):
        names = plain_parameters(function)
        if names is None or len(names) != 2 or isinstance(function.body, ast.Lambda):
            return None
        carry, layer, update = names[0].arg, names[1].arg, function.body
        targets, taken = _parts(function, layer, walked) if reader.builtin(walked) == "zip" else ([], [])
    else:
        used = names_in([function])
        layer = unused("layer", used)
        named = isinstance(start, ast.Name) and start.id not in {*used, layer}
        carry = start.id if named and isinstance(start, ast.Name) else unused("carry", {*used, layer})
        given: list[ast.expr] = [made(ast.Name(name, ast.Load()), call) for name in (carry, layer)]
        update, targets, taken = made(ast.Call(function, given, []), call), [], []
    target: ast.expr = made(ast.Name(layer, ast.Store()), call)
    if targets:
        target = made(ast.Tuple(targets, ast.Store()), call)
    head = reader.read(target, walked)
    problem = head.problem
    if problem is not None:
        reason = "the function of `reduce` is passed the layers in tuples"
        problem = Problem("SCN213", reason, walked, "write the `reduce` as a `for`, with a target for each part")
    elif start is None:
        reason = "`reduce` is given no value to begin with: the first layer would be the carry"
        problem = Problem("SCN213", reason, call, "give `reduce` a third argument to begin with")
    body = ast.copy_location(ast.Assign([made(ast.Name(carry, ast.Store()), update)], update), update)
    adopt(module, body, call)
    statements, replaced = rebuilt(module, [body], taken)
    index = head.index
    if index is not None:
        read = isinstance(index.target, ast.Name) and index.target.id in flow(statements).read_first
        index = replace(index, read=read)
    return Loop(
        module,
        scope,
        Form.REDUCE,
        call,
        module.place(call),
        target,
        head.walks,
        index,
        statements,
        carry=carry,
        start=start,
        problem=problem,
        replaced=replaced,
    )


def _parts(function: ast.Lambda, item: str, walked: ast.expr) -> tuple[list[ast.expr], list[Change]]:
    """The names for what `zip` gives where a lambda takes parts of it by number alone: `pair[0](x, key=pair[1])`."""
    columns = walked.args if isinstance(walked, ast.Call) else []
    taken = [
        each
        for each in nodes_in(function.body)
        if isinstance(each, ast.Subscript) and isinstance(each.value, ast.Name) and each.value.id == item
    ]
    numbers = [getattr(each.slice, "value", None) for each in taken]
    inner = any(isinstance(each, ast.arg) and each.arg == item for each in nodes_in(function.body))
    if inner or len(mentions(item, function.body)) > len(taken) or not set(numbers) <= set(range(len(columns))):
        return [], []
    names: list[str] = []
    for column in columns:
        name = singular(dotted(column) or "items", "this_")
        names.append(unused(name, {*names, *names_in([function])}))
    targets: list[ast.expr] = [made(ast.Name(name, ast.Store()), walked) for name in names]
    return targets, [Change(each, names[number]) for each, number in zip(taken, numbers, strict=True)]  # type: ignore[index]
