"""What the `is_leaf` of a search looks for in a tree: kinds of arrays, modules, lists, anything."""

import ast

from scanify.analysis.index import Definition, External, Index, Module
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import Body, callee, is_decorated, local_scope
from scanify.analysis.watchers.tables import TYPE_TESTS

_CONTAINERS = frozenset({"builtins.list", "builtins.tuple", "builtins.object"})
_LAYERS = ("equinox.", "haliax.", "scanify.")
_NOTHING, _UNKNOWN = "", "?"


def searched(index: Index, module: Module, predicate: ast.expr) -> str | None:
    """What `is_leaf=predicate` looks for in a tree; None where a stack looks the same to it."""
    if isinstance(predicate, ast.Constant):
        return None
    known = callee(index, module, predicate)
    if isinstance(known, str):
        return None if known in TYPE_TESTS else f"`{known}` of each part of a tree"
    unknown = f"`{' '.join(module.code(predicate).split())}` of each part of a tree"
    if not isinstance(known, Body) or is_decorated(index, known):
        return unknown
    if isinstance(known.node, ast.Lambda):
        body: ast.expr | None = known.node.body
    else:
        last = [each for each in known.node.body if not isinstance(each, ast.Expr)]
        body = last[0].value if len(last) == 1 and isinstance(last[0], ast.Return) else None
    names = [each.arg for each in known.node.args.args]
    found = _test(index, known.module, body, names[0]) if body is not None and names else _UNKNOWN
    return unknown if found == _UNKNOWN else found or None


def _test(index: Index, module: Module, node: ast.expr, name: str) -> str:
    """What a test looks for; `_NOTHING` that a stack would change, or `_UNKNOWN`."""
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_test(index, module, each, name) for each in values]
            if isinstance(op, ast.And):  # what is not known only makes it look for less
                parts = [_NOTHING] if _NOTHING in parts else [each for each in parts if each != _UNKNOWN] or parts
            return _UNKNOWN if _UNKNOWN in parts else next(filter(None, parts), _NOTHING)
        case ast.Compare(left=ast.Name(id=read), ops=[ast.Is()], comparators=[ast.Constant()]) if read == name:
            return _NOTHING
        case ast.Call(func=function, args=[ast.Name(id=read), kinds]) if read == name:
            known = callee(index, module, function)
            return _instances(index, module, kinds) if known == "builtins.isinstance" else _UNKNOWN
        case ast.Call(func=function, args=[ast.Name(id=read)]) if read == name:
            return searched(index, module, function) or _NOTHING
        case _:
            return _UNKNOWN


def _instances(index: Index, module: Module, kinds: ast.expr) -> str:
    looked_for = False
    for kind in members(kinds):
        name = dotted(kind)
        if name is None or local_scope(module, kind, name.partition(".")[0]) is not None:
            return _UNKNOWN
        found = index.resolve(module, name)
        if isinstance(found, External):
            layer = found.qualname.startswith(_LAYERS) and not found.qualname.endswith(".NamedArray")
            looked_for |= layer or found.qualname in _CONTAINERS
        elif isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
            looked_for = True
        else:
            return _UNKNOWN
    return f"each `{' '.join(module.code(kinds).split())}` in a tree" if looked_for else _NOTHING


def members(node: ast.expr) -> list[ast.expr]:
    """The classes of an `isinstance`: one, a tuple of them, or `A | B`."""
    if isinstance(node, ast.Tuple):
        return [each for element in node.elts for each in members(element)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*members(node.left), *members(node.right)]
    return [node]
