"""What is read of a treedef: comparing it and making trees of it is the same for a list and a stack of its layers.

How many leaves and nodes it has is not, nor what it says of itself as a text.
"""

import ast
from collections.abc import Iterator

from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors, own_nodes, parent_of
from scanify.analysis.watchers.names import callee, local_scope
from scanify.analysis.watchers.tables import FLATTENS, STRUCTURES
from scanify.analysis.watchers.trees.uses import COUNT, Uses
from scanify.analysis.watchers.watcher import Watcher

COUNTS = frozenset({"num_leaves", "num_nodes"})
PARTS = frozenset({"children", "node_data"})
_TEXTS = frozenset({"builtins.str", "builtins.repr", "builtins.format", "builtins.hash"})
_TELLS = frozenset("print debug info warning warn error critical exception log".split())
_WRITES = frozenset("str repr format ascii pformat tree_pformat pprint tree_pprint".split())
_TEXT = "the structure of a tree as a text"
_MAX_DEPTH = 6


def of_treedef(uses: Uses, node: ast.expr, depth: int = 0) -> str | None:
    """What is read of a treedef; None where nothing is that differs between a list and a stack."""
    parent = parent_of(uses.module, node)
    match parent:
        case ast.Attribute(attr=name):
            return COUNT if name in COUNTS else "one leaf after another" if name in PARTS else None
        case ast.FormattedValue():
            return None if is_only_told(uses, parent) else _TEXT
        case ast.Call(func=function) if node in parent.args:
            known = callee(uses.index, uses.module, function)
            return _TEXT if known in _TEXTS and not is_only_told(uses, parent) else None
        case ast.Assign(targets=[ast.Name() as name]) if depth < _MAX_DEPTH:
            found = (of_treedef(uses, load, depth + 1) for load in uses.loads(name))
            return next((each for each in found if each is not None), None)
        case _:
            return None


def of_bound_treedef(uses: Uses, name: ast.Name) -> str | None:
    """What is read of a treedef wherever the name that it is bound to is read."""
    found = (of_treedef(uses, load) for load in uses.loads(name))
    return next((each for each in found if each is not None), None)


def counts(index: Index, module: Module, node: ast.AST) -> Iterator[Watcher]:
    """`spec(model).num_leaves`, `treedef.children()`: a treedef made elsewhere, perhaps of a model."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PARTS:
        own = any(node.func.attr in each.methods for each in index.modules_with(node.func.attr))
        if not (node.args or node.keywords or own):
            yield Watcher(module.place(node), "the children of each part of a tree")
        return
    if not isinstance(node, ast.Attribute) or node.attr not in COUNTS:
        return
    owner = node.value.value if isinstance(node.value, ast.Subscript) else node.value
    if not _is_made(index, module, owner):
        yield Watcher(module.place(node), COUNT)


def _is_made(index: Index, module: Module, owner: ast.expr) -> bool:
    """Whether a call makes the treedef, there or where its name is bound: what the call is given says more."""
    if isinstance(owner, ast.Call):
        return callee(index, module, owner.func) in STRUCTURES | FLATTENS
    if not isinstance(owner, ast.Name):
        return False
    scope = local_scope(module, owner, owner.id)
    made = [
        node.value
        for node in (own_nodes(scope.node) if scope is not None else ())
        if isinstance(node, ast.Assign)
        and any(isinstance(each, ast.Name) and each.id == owner.id for each in nodes_in(*node.targets))
    ]
    return bool(made) and all(isinstance(each, ast.Call) and _is_made(index, module, each) for each in made)


def is_only_told(uses: Uses, node: ast.AST) -> bool:
    """Whether a text goes to a person alone: it is printed, logged or raised, as it is or in a longer one."""
    for each in (node, *ancestors(uses.module, node)):
        match each:
            case ast.Call(func=function) if _last(function) not in _TELLS | _WRITES:
                if not isinstance(parent_of(uses.module, each), ast.Raise):
                    return False
            case ast.Attribute() | ast.Subscript():
                return False
            case ast.Raise() | ast.Assert():
                return True
            case ast.Expr(value=ast.Call(func=function)):
                return _last(function) in _TELLS
            case ast.stmt():
                return False
    return False


def _last(function: ast.expr) -> str:
    """The last name of what is called: "format" of `"{}".format`."""
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
