"""Calls of jax's and equinox's functions on trees."""

import ast
from collections.abc import Iterator

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.watchers.data import is_data
from scanify.analysis.watchers.names import Body, callee
from scanify.analysis.watchers.tables import (
    BYTES,
    DESERIALISES,
    FILTERS,
    FLATTENS,
    LEAVES,
    LOADS,
    MAPS,
    PATHS,
    RAVELS,
    READERS,
    REDUCES,
    SERIALISES,
    STRUCTURES,
)
from scanify.analysis.watchers.trees.leaf import applied
from scanify.analysis.watchers.trees.predicates import searched
from scanify.analysis.watchers.trees.specs import filtered, mapped_by, saved_by
from scanify.analysis.watchers.trees.treedefs import of_bound_treedef, of_treedef
from scanify.analysis.watchers.trees.uses import Uses
from scanify.analysis.watchers.trees.values import ELEMENTWISE
from scanify.analysis.watchers.watcher import Watcher


def tree_reads(index: Index, module: Module, call: ast.Call, known: str) -> Iterator[Watcher]:
    """What a call of the function with a qualified name reads of the leaves of a tree."""
    trees = _trees(call, known)
    if trees and all(is_data(index, module, each) for each in trees):
        return  # of something that is known to hold no model
    place, element_of = module.place(call), _element_of(call, known)
    yield from (Watcher(place, each) for each in mapped_by(index, module, call, known))
    reads = _search(index, module, call, known) or _reads(index, module, call, known)
    if reads is not None:
        yield Watcher(place, reads, element_of=element_of)


def _trees(call: ast.Call, known: str) -> list[ast.expr]:
    """The trees that a function is given; none where they are not told apart from its other arguments."""
    if known not in READERS or any(isinstance(each, ast.Starred) for each in call.args):
        return []
    if known in MAPS or known.endswith("map_with_path"):
        return call.args[1:]
    if known in REDUCES | DESERIALISES or known == "equinox.tree_serialise_leaves":
        return call.args[1:2]
    return call.args[:1]


def _element_of(call: ast.Call, known: str) -> str | None:
    """The list of which the tree that a function is given is one element: "layers" for `model.layers[0]`."""
    second = known in MAPS | REDUCES or known.endswith("map_with_path")
    trees = call.args[1:2] if second else call.args[:1]
    match trees:
        case [ast.Subscript(value=ast.Attribute(attr=name), slice=index)] if not isinstance(index, ast.Slice):
            return name
        case _:
            return None


def _search(index: Index, module: Module, call: ast.Call, known: str) -> str | None:
    if known not in MAPS | LEAVES | FLATTENS | REDUCES | STRUCTURES | PATHS | FILTERS:
        return None
    given = next((each.value for each in call.keywords if each.arg == "is_leaf"), None)
    if given is None and known in LEAVES | FLATTENS and len(call.args) == 2:
        given = call.args[1]
    return searched(index, module, given) if given is not None else None


def _reads(index: Index, module: Module, call: ast.Call, known: str) -> str | None:
    uses = Uses(index, module)
    function = call.args[0] if call.args else next((each.value for each in call.keywords if each.arg == "f"), None)
    if known in MAPS and function is not None:
        return uses.of_tree(call, applied(index, module, function))
    if known in LEAVES:
        return uses.of_list(call, uses.in_tree(call.args[0]) if call.args else ELEMENTWISE)
    if known in FLATTENS:
        return _flattened(uses, call)
    if known in REDUCES and len(call.args) >= 2:
        return uses.of_reduce(call)
    if known in PATHS:
        return _with_path(index, module, call, known)
    if known in RAVELS:
        return "all leaves as one vector"
    if known in BYTES | SERIALISES:
        return saved_by(index, module, call) or _saved(uses, call, known)
    if known in STRUCTURES:
        return of_treedef(uses, call)
    if known in FILTERS:
        return filtered(index, module, call)
    return saved_by(index, module, call) if known in DESERIALISES else None


def _saved(uses: Uses, call: ast.Call, known: str) -> str | None:
    """The bytes of a saved tree, where they are read and not only loaded again; a checkpoint in a file is announced."""
    if known in BYTES:
        above = parent_of(uses.module, call)
        loaded = isinstance(above, ast.Call) and callee(uses.index, uses.module, above.func) in LOADS
        return None if loaded else "the bytes of a saved tree"
    files = [each for each in call.args if isinstance(each, ast.Name)]
    for load in (load for file in files for load in uses.loads(file)):
        above = parent_of(uses.module, load)
        if isinstance(above, ast.Attribute) and above.attr in ("getvalue", "getbuffer", "tell"):
            return "the bytes of a saved tree"
    return None


def _flattened(uses: Uses, call: ast.Call) -> str | None:
    """`leaves, treedef = jax.tree.flatten(tree)`, or `jax.tree.flatten(tree)[0]`."""
    parent = parent_of(uses.module, call)
    match parent:
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name() as name, treedef])]):
            found = (uses.of_list(load, ELEMENTWISE, 1) for load in uses.loads(name))
            reads = next((each for each in found if each is not None), None)
            return of_bound_treedef(uses, treedef) if reads is None and isinstance(treedef, ast.Name) else reads
        case ast.Subscript(slice=ast.Constant(value=0)):
            return uses.of_list(parent, ELEMENTWISE, 1)
        case ast.Subscript(slice=ast.Constant(value=1)):
            return of_treedef(uses, parent)
        case _:
            return "a list of all leaves"


def _with_path(index: Index, module: Module, call: ast.Call, known: str) -> str | None:
    if known.endswith("map_with_path") and call.args:
        function = callee(index, module, call.args[0])
        if isinstance(function, Body) and function.node.args.args:
            path = function.node.args.args[0].arg
            body = function.node.body if isinstance(function.node.body, list) else [function.node.body]
            read = (each for part in body for each in nodes_in(part) if isinstance(each, ast.Name))
            if all(each.id != path for each in read):
                return Uses(index, module).of_tree(call, applied(index, module, call.args[0]))
    return "the path of each leaf"
