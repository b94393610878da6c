"""`equinox.tree_at`: a copy of a tree with other parts, and which lists it reaches into."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.values.calls.copies import Copying
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import Array, Function, Instance, Listed, Partial, Unknown, Value, options
from scanify.analysis.values.heap import Does
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.asked import all_guesses
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

Named = Mapping[str, Value]


def tree_at(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Value:
    """`eqx.tree_at(where, tree, replace)`: the tree with other leaves; `where` says which lists it reaches into."""
    from scanify.analysis.values.calls.calls import call

    where = positional[0] if positional else named.get("where", Unknown("no place"))
    tree = positional[1] if len(positional) > 1 else named.get("pytree", Unknown("no tree"))
    _reach(run, env, node, where, tree, "equinox.tree_at")
    replace_fn = named.get("replace_fn")
    if isinstance(replace_fn, Function):
        call(run, env, node, replace_fn, [Array()], {})
    if isinstance(tree, Instance):
        made = Copying(run, deep=False).of(tree)
        given = positional[2] if len(positional) > 2 else named.get("replace")
        if isinstance(made, Instance) and given is not None:
            for path, value in _put(where, given):
                made = _with_field(run, made, path, value)
        return replace(made, origin="tree_at") if isinstance(made, Instance) else made
    return tree


def shared(run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> None:
    """`eqx.nn.Shared(tree, where, get)`: one place of a tree is given what is at another."""
    given = [*positional, *(named[name] for name in ("pytree", "where", "get") if name in named)]
    for where in given[1:3]:
        _reach(run, env, node, where, given[0], "equinox.nn.Shared")


def _reach(run: Interpreter, env: Env, node: ast.AST, where: Value, tree: Value, name: str) -> None:
    """Note the lists that a function which names places of a tree reaches into."""
    from scanify.analysis.values.calls.calls import call

    before, run.replacing = run.replacing, name
    with run.recording():
        for target in _targets(run, call(run, env, node, where, [tree], {}), env, node):
            if isinstance(target, Listed):
                run.use(target.cell, Does.REPLACE, node, env, name)
    run.replacing = before
    if isinstance(where, Unknown) and where.given:
        run.asked_for.add(getattr(env.function, "name", ""))
    elif isinstance(where, Unknown) or (isinstance(where, Partial) and isinstance(where.function, Unknown)):
        for guess in all_guesses(run):  # it may reach into any list
            for option in options(guess):
                if isinstance(option, Listed):
                    run.use(option.cell, Does.REPLACE, node, env, name)


def _put(where: Value, given: Value) -> Iterator[tuple[list[str], Value]]:
    """The fields that `lambda tree: tree.linear.weight` names, or each of a tuple of such, with what they get."""
    body = where.node.body if isinstance(where, Function) and isinstance(where.node, ast.Lambda) else None
    several = isinstance(body, ast.Tuple | ast.List)
    places = body.elts if isinstance(body, ast.Tuple | ast.List) else [body] if body is not None else []
    parts = given.cell.groups if isinstance(given, Listed) and several else []
    values = [group.element for group in parts] if len(parts) == len(places) else [given] * len(places)
    for place, value in zip(places, values, strict=True):
        path = (dotted(place) or "").split(".")[1:] if isinstance(place, ast.Attribute) else []
        if path:
            yield path, value


def _with_field(run: Interpreter, owner: Instance, path: Sequence[str], value: Value) -> Instance:
    """A copy of an object with a value in one of its fields, or in a field of one of those."""
    name, *rest = path
    inner = owner.fields.get(name)
    if rest:
        copied = Copying(run, deep=False).of(inner) if isinstance(inner, Instance) else None
        if not isinstance(copied, Instance):
            return owner
        value = _with_field(run, copied, rest, value)
    return replace(owner, fields={**owner.fields, name: value})


def _targets(run: Interpreter, value: Value, env: Env, node: ast.AST) -> Iterator[Value]:
    """What `where` gives, and where that is a tuple what it holds: it may be a field, or one of several targets."""
    for option in options(value):
        yield option
        if isinstance(option, Listed) and option.cell.node is not node and option.cell.is_tuple:
            for group in option.cell.groups:
                yield from _targets(run, group.element, env, node)
