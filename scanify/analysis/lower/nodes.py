"""Walking trees of `ast` quickly: most of the time of an analysis goes into this."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

Kept = TypeVar("Kept")

# What holds no names and no statements: contexts and operators, texts, numbers.
_LEAVES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "lineno", "is_async", "conversion", "level"}
# Lists in which other things stand beside nodes: None for `**more` and for a parameter that needs a value, names.
_MIXED = {"keys", "kw_defaults", "names", "kwd_attrs"}


class _Fields(dict[type[ast.AST], tuple[tuple[str, bool], ...]]):
    """The fields of each kind of node that hold nodes, and whether a list there may hold something else, too."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[tuple[str, bool], ...]:
        fields = self[kind] = tuple((name, name in _MIXED) for name in kind._fields if name not in _LEAVES)
        return fields


_FIELDS = _Fields({ast.Name: (), ast.Constant: ()})


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node, in source order; contexts and operators left out."""
    below: list[ast.AST] = []
    for name, mixed in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            below += [each for each in value if isinstance(each, ast.AST)] if mixed else value
        elif isinstance(value, ast.AST):
            below.append(value)
    return below


def nodes_in(*roots: ast.AST) -> list[ast.AST]:
    """Some nodes and all below them, the nearer ones first, as `ast.walk` gives them."""
    nodes = list(roots)
    for node in nodes:  # which grows while it is walked; `children` in place: a call for each takes a quarter more
        for name, mixed in _FIELDS[node.__class__]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                nodes += [each for each in value if isinstance(each, ast.AST)] if mixed else value
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def mentions(name: str, *nodes: ast.AST) -> list[ast.Name]:
    """The places of a name in some nodes, at any depth."""
    return [each for each in nodes_in(*nodes) if isinstance(each, ast.Name) and each.id == name]


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """All names that stand in some nodes, at any depth."""
    return {each.id for each in nodes_in(*nodes) if isinstance(each, ast.Name)}


def kept(tree: ast.Module, name: str, make: Callable[[], Kept]) -> Kept:
    """What is made once for each file: it is kept with its tree under a name, and goes with it."""
    found: Kept | None = getattr(tree, name, None)
    if found is None:
        found = make()
        setattr(tree, name, found)
    return found


def by_kind(tree: ast.Module) -> Mapping[type[ast.AST], list[Any]]:
    """All nodes of a file by their class, the nearer ones to the module first."""
    return kept(tree, "_by_kind", lambda: _by_kind(tree))


def _by_kind(tree: ast.Module) -> Mapping[type[ast.AST], list[Any]]:
    kinds: defaultdict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in nodes_in(tree):
        kinds[node.__class__].append(node)
    return kinds
