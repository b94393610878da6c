"""How functions use their names, which decides whether the type of a name still holds where the name is read."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

from scanify.analysis.lower.bound import names_bound_by
from scanify.analysis.lower.nodes import names_in, nodes_in
from scanify.analysis.lower.scope import Scope, own_nodes, parent_of, scope_of
from scanify.analysis.lower.text import dotted

_READERS = frozenset("len list tuple set sorted zip enumerate reversed sum any all min max isinstance dict map".split())
_READING_METHODS = frozenset("items values keys index count copy get".split())
_READING = (ast.For, ast.comprehension, ast.Starred, ast.If, ast.While, ast.Assert, ast.Expr, ast.Return)


def is_shared(scope: Scope, name: str) -> bool:
    """True if other code may hold the container under a local name, and change it unnoticed."""
    reads = (node for node in nodes_in(scope.node) if isinstance(node, ast.Name | ast.Attribute))
    return any(not _is_seen(scope, node) for node in reads if dotted(node) == name and isinstance(node.ctx, ast.Load))


def _is_seen(scope: Scope, node: ast.AST) -> bool:
    """True if a use reads elements of a container, returns it, or changes it under its name."""
    if scope_of(scope.module, node).function is not scope:
        return False
    upper = parent_of(scope.module, node)
    match upper:
        case ast.Subscript(value=value, ctx=context):
            return value is node and not isinstance(context, ast.Del)
        case ast.Attribute(attr=method):
            call = parent_of(scope.module, upper)
            stands = method in _READING_METHODS or isinstance(parent_of(scope.module, call or upper), ast.Expr)
            return isinstance(call, ast.Call) and call.func is upper and stands
        case ast.Call(func=called):
            return getattr(called, "id", "") in _READERS
        case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]):
            return True
        case ast.Tuple():
            return isinstance(parent_of(scope.module, upper), ast.Return)
        case _:
            return isinstance(upper, _READING)


def is_bound_inside(scope: Scope, name: str) -> bool:
    """True if an inner function rebinds a name of a function."""
    if not scope.module.writes("nonlocal "):
        return False
    return any(isinstance(node, ast.Nonlocal) and name in node.names for node in nodes_in(scope.node))


def bound_several_times(scope: Scope) -> frozenset[str]:
    """Return the names that a function binds more than once."""
    known: frozenset[str] | None = vars(scope).get("_bound_several_times")
    if known is None:
        known = vars(scope)["_bound_several_times"] = repeated(own_nodes(scope.node), scope.params)
    return known


def repeated(nodes: Iterable[ast.AST], names: Iterable[str] = ()) -> frozenset[str]:
    """Return the names that the nodes bind more than once; each of `names` counts as bound once already."""
    counts = Counter([*names, *(name for node in nodes for name in names_bound_by(node))])
    return frozenset(name for name, count in counts.items() if count > 1)


def bindings(scope: Scope) -> list[tuple[ast.AST, frozenset[str]]]:
    """Return the nodes of a scope that bind names or change containers under names, in order, with the names.

    Attributes count as names: `self.scale`. The result is cached on the scope.
    """
    known: list[tuple[ast.AST, frozenset[str]]] | None = vars(scope).get("_bindings")
    if known is None:
        levels = getattr(scope.node, "generators", None)
        nodes = (node for node in levels or own_nodes(scope.node) if levels or not isinstance(node, ast.comprehension))
        pairs = ((node, frozenset(_bound_by(node))) for node in nodes)
        known = [(node, names) for node, names in pairs if names]
        if levels is None:
            known.sort(key=lambda each: (getattr(each[0], "lineno", 0), getattr(each[0], "col_offset", 0)))
        vars(scope)["_bindings"] = known
    return known


def needed(found: list[tuple[ast.AST, frozenset[str]]], *nodes: ast.AST) -> list[tuple[ast.AST, frozenset[str]]]:
    """Return the bindings on which the values of the names in some nodes depend."""
    wanted, rest, kept = names_in(nodes), list(found), set[ast.AST]()
    while more := [node for node, names in rest if not wanted.isdisjoint(names)]:
        kept.update(more)
        rest = [(node, names) for node, names in rest if node not in kept]
        wanted |= names_in([node.iter if isinstance(node, ast.For) else node for node in more])
    return [each for each in found if each[0] in kept]


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from _stored(*targets)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from _stored(*filter(None, (each.optional_vars for each in items)))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=holder))):
            yield from filter(None, [dotted(holder)])
        case ast.Name():
            pass  # part of one of the other nodes
        case _ if isinstance(target := getattr(node, "target", None), ast.expr):
            yield from _stored(target)
        case _:
            yield from names_bound_by(node)


def _stored(*targets: ast.expr) -> Iterator[str]:
    """Yield the dotted names that targets bind, and the names of containers that they store into."""
    for target in targets:
        match target:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                yield from _stored(*parts)
            case ast.Starred(value=inner) | ast.Subscript(value=inner):
                yield from _stored(inner)
            case _:
                yield from filter(None, [dotted(target)])
