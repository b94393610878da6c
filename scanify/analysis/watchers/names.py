"""What a function's name stands for where it is read: a function of a library, or one whose body is in the project."""

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from scanify.analysis.index import Definition, External, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import Opens, Scope, own_nodes, scope_of
from scanify.analysis.lower.text import dotted

_BINDING = (ast.stmt, ast.NamedExpr, ast.comprehension, ast.withitem)
# What gives the same function in another form: its first argument is what is applied.
_WRAPPERS = frozenset(
    "jax.jit jax.checkpoint jax.remat functools.partial functools.lru_cache functools.cache equinox.filter_jit "
    "equinox.Partial jax.tree_util.Partial equinox.filter_checkpoint".split()
)


@dataclass(frozen=True)
class Body:
    """A function whose body the project has."""

    module: Module
    node: ast.FunctionDef | ast.Lambda


Callee: TypeAlias = str | Body | None
"""A qualified name of something outside the project, a body, or nothing that could be shown."""


def callee(index: Index, module: Module, node: ast.expr) -> Callee:
    """What is called by the expression of a function."""
    if isinstance(node, ast.Lambda):
        return Body(module, node)
    if isinstance(node, ast.Call):
        if (imported := imported_in_place(node)) is not None:
            return imported
        wrapped = callee(index, module, node.func)
        return callee(index, module, node.args[0]) if wrapped in _WRAPPERS and node.args else None
    name = dotted(node)
    if name is None:
        return imported_in_place(node)
    first, _, rest = name.partition(".")
    holder = local_scope(module, node, first)
    if holder is not None:
        return _local(index, holder, first, rest)
    found = index.resolve(module, name)
    if isinstance(found, External):
        return found.qualname
    return _defined(index, found) if isinstance(found, Definition) else None


def local_scope(module: Module, node: ast.AST, name: str) -> Scope | None:
    """The function or comprehension that binds a name where it is read; None for names of the module.

    The module's own scope is not asked: that would walk the whole file.
    """
    start = scope_of(module, node)
    for scope in start.chain():
        if scope.parent is None or name in scope.globals:
            return None
        if name in scope.locals and (scope is start or not scope.is_class):
            return scope
    return None


def imported_in_place(node: ast.expr) -> str | None:
    """`__import__("numpy").asarray`, `importlib.import_module("numpy").asarray`."""
    match node:
        case ast.Attribute(value=value, attr=attr):
            inner = imported_in_place(value)
            return f"{inner}.{attr}" if inner is not None else None
        case ast.Call(func=ast.Name(id="__import__" | "import_module"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case _:
            return None


def _defined(index: Index, found: Definition) -> Callee:
    if isinstance(found.node, ast.FunctionDef):
        return Body(found.module, found.node)
    if isinstance(found.node, ast.Assign) and len(found.node.targets) == 1:
        return callee(index, found.module, found.node.value)
    return None


def _local(index: Index, holder: Scope, name: str, rest: str) -> Callee:
    """A name that a function around binds, by one statement."""
    binding = [node for node in _bindings(holder.node) if _binds(node, name)]
    if len(binding) != 1 or name in holder.params:
        return None
    match binding[0]:
        case ast.FunctionDef() as node if not rest:
            return Body(holder.module, node)
        case ast.Assign(value=value) if not rest and not isinstance(value, ast.Name):
            return callee(index, holder.module, value)
        case ast.Import() | ast.ImportFrom() as node:
            target = holder.module.imported(node)[name]
            full = f"{target.target}.{rest}" if rest else target.target
            found = index.resolve_absolute(holder.module, full, relative=target.relative)
            if isinstance(found, External):
                return found.qualname
            return _defined(index, found) if isinstance(found, Definition) else None
        case _:
            return None


@lru_cache(maxsize=256)
def _bindings(opens: Opens) -> tuple[ast.AST, ...]:
    """The nodes of a scope that may bind names."""
    return tuple(node for node in own_nodes(opens) if isinstance(node, _BINDING))


def _binds(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Assign(targets=targets):
            return any(
                isinstance(each, ast.Name) and each.id == name for target in targets for each in nodes_in(target)
            )
        case ast.Import() | ast.ImportFrom():
            return any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names)
        case ast.AnnAssign(target=ast.Name(id=bound)) | ast.AugAssign(target=ast.Name(id=bound)):
            return bound == name
        case ast.NamedExpr(target=ast.Name(id=bound)):
            return bound == name
        case ast.For(target=target) | ast.comprehension(target=target):
            return any(isinstance(each, ast.Name) and each.id == name for each in nodes_in(target))
        case ast.withitem(optional_vars=ast.expr() as target):
            return any(isinstance(each, ast.Name) and each.id == name for each in nodes_in(target))
        case _:
            return False
