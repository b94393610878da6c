"""Where `equinox.tree_at` may replace what a list holds: inside its call, and in functions that its `where` calls.

`tree_at` marks the leaves of the tree and looks at which of them its `where` gives back. Layers that are taken out of a
stack are no leaves of it.
"""

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from scanify.analysis.children import all_of, children
from scanify.analysis.project import Module, Project, dotted


def in_tree_at(project: Project, module: Module, node: cst.CSTNode) -> str | None:
    """Why a stack cannot stand where an expression is read, if `tree_at` is what reads it."""
    for above in module.parsed.ancestors(node):
        if isinstance(above, cst.Call) and _is_tree_at(above):
            return "`tree_at` replaces a part of the list"
        if isinstance(above, cst.FunctionDef) and above.name.value in _asked_by_tree_at(project):
            return f"`tree_at` asks `{above.name.value}` for a part of the list to replace"
    return None


@lru_cache(maxsize=8)  # asked for each use of each list of a project
def _asked_by_tree_at(project: Project) -> frozenset[str]:
    """The names of the functions that the `where` of any `tree_at` in the given files may call, directly or not."""
    found: set[str] = set()
    new = {
        name
        for module in project.given_with("tree_at")
        for call in all_of(cst.Call, module.parsed.module)
        if _is_tree_at(call)
        for name in _names(_where(call))
    }
    while new:
        found |= new
        new = {name for each in new for body in _bodies(project, each) for name in _names(body)} - found
    return frozenset(found)


def _is_tree_at(call: cst.Call) -> bool:
    return (dotted(call.func) or "").rpartition(".")[2] == "tree_at"


def _where(call: cst.Call) -> cst.CSTNode | None:
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "where"]
    return named[0] if named else call.args[0].value if call.args else None


def _bodies(project: Project, name: str) -> Iterator[cst.CSTNode]:
    for module in project.given_with(f"def {name}("):
        for node in all_of(cst.FunctionDef, module.parsed.module):
            if node.name.value == name:
                yield node.body


def _names(node: cst.CSTNode | None) -> Iterator[str]:
    """The functions that code names: by a plain name, or as an attribute that it calls (`model.leaves()`)."""
    match node:
        case None:
            return
        case cst.Name():
            yield node.value
        case cst.Call(func=cst.Attribute(attr=cst.Name(value=name))):
            yield name
    for child in children(node):
        if not (isinstance(node, cst.Attribute) and child is node.attr):
            yield from _names(child)
