"""Fast traversal of `ast` trees, where an analysis spends most of its time."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

Kept = TypeVar("Kept")

# Fields without names or statements: contexts and operators, texts, numbers.
_LEAVES = {"ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "lineno", "is_async", "conversion", "level"}
# Lists that hold other things than nodes: None for `**more` and for a parameter without a default, names.
_MIXED = {"keys", "kw_defaults", "names", "kwd_attrs"}


class _Fields(dict[type[ast.AST], tuple[tuple[str, bool], ...]]):
    """The fields of each node class that hold nodes, and whether a list there may hold other things, too."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[tuple[str, bool], ...]:
        fields = self[kind] = tuple((name, name in _MIXED) for name in kind._fields if name not in _LEAVES)
        return fields


_FIELDS = _Fields({ast.Name: (), ast.Constant: ()})


def children(node: ast.AST) -> list[ast.AST]:
    """Return the direct children of a node in source order, without contexts and operators."""
    below: list[ast.AST] = []
    for name, mixed in _FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if value.__class__ is list:
            below += [each for each in value if isinstance(each, ast.AST)] if mixed else value
        elif isinstance(value, ast.AST):
            below.append(value)
    return below


def nodes_in(*roots: ast.AST) -> list[ast.AST]:
    """Return nodes and all their descendants, in the breadth-first order of `ast.walk`."""
    nodes = list(roots)
    for node in nodes:  # grows during iteration; `children` is inlined, since calling it takes a quarter longer
        for name, mixed in _FIELDS[node.__class__]:
            value = getattr(node, name, None)
            if value.__class__ is list:
                nodes += [each for each in value if isinstance(each, ast.AST)] if mixed else value
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def mentions(name: str, *nodes: ast.AST) -> list[ast.Name]:
    """Return the occurrences of a name in some nodes, at any depth."""
    return [each for each in nodes_in(*nodes) if isinstance(each, ast.Name) and each.id == name]


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return all names in some nodes, at any depth."""
    return {each.id for each in nodes_in(*nodes) if isinstance(each, ast.Name)}


def kept(tree: ast.Module, name: str, make: Callable[[], Kept]) -> Kept:
    """Return a value computed once per file and cached on its tree under a name."""
    found: Kept | None = getattr(tree, name, None)
    if found is None:
        found = make()
        setattr(tree, name, found)
    return found


def by_kind(tree: ast.Module) -> Mapping[type[ast.AST], list[Any]]:
    """Return all nodes of a file by class, those nearer to the module first."""
    return kept(tree, "_by_kind", lambda: _by_kind(tree))


def _by_kind(tree: ast.Module) -> Mapping[type[ast.AST], list[Any]]:
    kinds: defaultdict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in nodes_in(tree):
        kinds[node.__class__].append(node)
    return kinds
