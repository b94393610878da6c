"""Walking trees of `ast` quickly: most of the time of an analysis goes into this."""

import ast
from collections.abc import Iterable

_NONE: tuple[str, ...] = ()
# What holds no names and no statements: contexts and operators, texts, numbers.
_LEAVES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "lineno", "is_async", "conversion", "level"}
_CHILDREN: dict[type[ast.AST], tuple[str, ...]] = {ast.Name: _NONE, ast.Constant: _NONE}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in source order; contexts and operators left out."""
    kind = node.__class__
    fields = _CHILDREN.get(kind)
    if fields is None:
        fields = _CHILDREN[kind] = tuple(name for name in kind._fields if name not in _LEAVES)
    below: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            below += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            below.append(value)
    return below


def nodes_in(*roots: ast.AST) -> list[ast.AST]:
    """Some nodes and all below them, the nearer ones first, as `ast.walk` gives them."""
    nodes = list(roots)
    for node in nodes:  # which grows while it is walked
        nodes += children(node)
    return nodes


def nodes_below(node: ast.AST) -> frozenset[ast.AST]:
    """A node and all below it; asked once for each and kept with the tree."""
    known: frozenset[ast.AST] | None = getattr(node, "_below", None)
    if known is None:
        known = node._below = frozenset(nodes_in(node))  # type: ignore[attr-defined]
    return known


def mentions(name: str, *nodes: ast.AST) -> list[ast.Name]:
    """The places of a name in some nodes, at any depth."""
    return [each for each in nodes_in(*nodes) if isinstance(each, ast.Name) and each.id == name]


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """All names that stand in some nodes, at any depth."""
    return {each.id for each in nodes_in(*nodes) if isinstance(each, ast.Name)}
