"""What the `is_leaf` of a search looks for in a tree: kinds of arrays, modules of some classes, lists, anything."""

import ast
from dataclasses import dataclass

from scanify.analysis.index import Definition, External, Index, Module
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import Body, callee, is_decorated, local_scope
from scanify.analysis.watchers.tables import TYPE_TESTS

_ANY_MODULE = frozenset(
    {"equinox.Module", "equinox.nn.StatefulLayer", "builtins.list", "builtins.tuple", "builtins.object"}
)
_LAYERS = ("equinox.", "haliax.", "scanify.")


@dataclass(frozen=True)
class Search:
    """`reads` where a stack may look different to it; `classes` where only modules of these classes are looked for."""

    reads: str | None
    classes: tuple[Definition | str, ...] = ()


def searched(index: Index, module: Module, predicate: ast.expr) -> Search:
    """What `is_leaf=predicate` makes of a tree."""
    if isinstance(predicate, ast.Constant):
        return Search(None)
    known = callee(index, module, predicate)
    if isinstance(known, str):
        return Search(None) if known in TYPE_TESTS else Search(f"`{known}` of each part of a tree")
    unknown = Search(f"`{' '.join(module.code(predicate).split())}` of each part of a tree")
    if not isinstance(known, Body) or is_decorated(index, known):
        return unknown
    if isinstance(known.node, ast.Lambda):
        body: ast.expr | None = known.node.body
    else:
        last = [each for each in known.node.body if not isinstance(each, ast.Expr)]
        body = last[0].value if len(last) == 1 and isinstance(last[0], ast.Return) else None
    names = [each.arg for each in known.node.args.args]
    if body is None or not names:
        return unknown
    return _test(index, known.module, body, names[0]) or unknown


def _test(index: Index, module: Module, node: ast.expr, name: str) -> Search | None:
    match node:
        case ast.BoolOp(values=values):
            parts = [_test(index, module, each, name) for each in values]
            if isinstance(node.op, ast.And) and any(each is not None and each.reads is None for each in parts):
                return Search(None)
            known = [each for each in parts if each is not None]
            if len(known) != len(parts) and (isinstance(node.op, ast.Or) or not known):
                return None  # of an `and`, what is not known only makes it look for less
            reads = next((each.reads for each in known if each.reads is not None), None)
            # One that looks for any module looks for more than the others name.
            some = [each for each in known if each.reads is not None]
            classes = () if any(not each.classes for each in some) else tuple(c for each in some for c in each.classes)
            return Search(reads, classes)
        case ast.Compare(left=ast.Name(id=read), ops=[ast.Is()], comparators=[ast.Constant()]) if read == name:
            return Search(None)
        case ast.Call(func=function, args=[ast.Name(id=read), kinds]) if read == name:
            if callee(index, module, function) == "builtins.isinstance":
                return _instances(index, module, kinds)
        case ast.Call(func=function, args=[ast.Name(id=read)]) if read == name:
            known_function = callee(index, module, function)
            if isinstance(known_function, str):
                return Search(None) if known_function in TYPE_TESTS else None
            return searched(index, module, function)
        case _:
            pass
    return None


def _instances(index: Index, module: Module, kinds: ast.expr) -> Search | None:
    classes: list[Definition | str] = []
    for kind in members(kinds):
        name = dotted(kind)
        if name is None or local_scope(module, kind, name.partition(".")[0]) is not None:
            return None
        found = index.resolve(module, name)
        if isinstance(found, External):
            if found.qualname in _ANY_MODULE:
                return Search(f"each `{name}` in a tree")
            classes += [found.qualname] if found.qualname.startswith(_LAYERS) else []
        elif isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
            classes.append(found)
        else:
            return None
    text = " ".join(module.code(kinds).split())
    return Search(f"each `{text}` in a tree", tuple(classes)) if classes else Search(None)


def members(node: ast.expr) -> list[ast.expr]:
    """The classes of an `isinstance`: one, a tuple of them, or `A | B`."""
    if isinstance(node, ast.Tuple):
        return [each for element in node.elts for each in members(element)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*members(node.left), *members(node.right)]
    return [node]
