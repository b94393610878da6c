"""Resolve the name of a function: to a library function, or to one whose body is in the project."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from scanify.analysis.flow.statements import assignments
from scanify.analysis.index import Definition, External, Index, Meaning, Module, Package
from scanify.analysis.index.bindings import Import
from scanify.analysis.lower.scope import Scope, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.library import KINDS

_MAX_STEPS = 12  # from one name to another
# Functions that return another form of their first argument, which is the function applied.
_WRAPPERS = frozenset(
    "jax.jit jax.checkpoint jax.remat functools.partial functools.lru_cache functools.cache equinox.filter_jit "
    "equinox.Partial jax.tree_util.Partial equinox.filter_checkpoint".split()
)


@dataclass(frozen=True)
class Body:
    """A function whose body is in the project; if it is not plain, a decorator may replace it."""

    module: Module
    node: ast.FunctionDef | ast.Lambda
    is_plain: bool = True


Callee: TypeAlias = str | Body | None
"""A qualified name outside the project, a body, or None if the source does not show the function."""


def callee(index: Index, module: Module, node: ast.expr) -> Callee:
    """Return the function that an expression calls; of several, the first if one table lists all of them."""
    found = list(dict.fromkeys(callees(index, module, node)))
    if len(found) == 1:
        return found[0]
    known = [each for each in found if isinstance(each, str)]
    same = len({KINDS.get(each) for each in known}) == 1 and known[0] in KINDS
    return known[0] if same and all(each in known or each is None for each in found) else None


def callees(index: Index, module: Module, node: ast.expr, depth: int = 0) -> tuple[Callee, ...]:
    """Return every function that an expression may call. None stands for a function that the source does not show.

    A name with several bindings, as after `try: import ... except ImportError: ...`, may stand for any of them,
    wherever in the project it is bound. Bindings to None are left out: calling them would raise.
    """
    if depth > _MAX_STEPS:
        return (None,)
    if isinstance(node, ast.Lambda):
        return (Body(module, node),)
    if isinstance(node, ast.IfExp):
        return tuple(each for part in (node.body, node.orelse) for each in callees(index, module, part, depth + 1))
    if isinstance(node, ast.Call):
        wrapped = callees(index, module, node.func, depth + 1)
        inside = node.args[:1] if all(each in _WRAPPERS for each in wrapped) else []
        return tuple(each for part in inside for each in callees(index, module, part, depth + 1)) or (None,)
    name = dotted(node)
    if name is None:
        return (None,)
    first, _, rest = name.partition(".")
    holder = local_scope(module, node, first)
    found = _local(index, holder, first, rest) if holder is not None else meanings(index, module, name, depth)
    return tuple(each for one, rest in found for each in _called(index, one, rest, depth)) or (None,)


def _local(index: Index, holder: Scope, name: str, rest: str) -> Iterator[tuple[Meaning | None, str]]:
    """Yield the meanings of a name that a function binds; see `meanings`. A parameter may be anything."""
    for node in bindings_of(holder, name) if name not in holder.params else [None]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(index, holder.module, holder.module.imported(node)[name], rest)
        else:
            yield (Definition(holder.module, name, node) if isinstance(node, ast.stmt) else None), rest


def meanings(index: Index, module: Module, name: str, depth: int = 0) -> list[tuple[Meaning | None, str]]:
    """Return every meaning of a dotted name of a module, each with the unresolved rest of the name.

    None stands for a value that the source does not show. A name bound by several statements has a meaning for each.
    """
    found = index.resolve(module, name)
    if found is not None or depth > _MAX_STEPS:
        return [(found, "")]
    head, _, rest = name.partition(".")
    if rest and isinstance(found := index.resolve(module, head), Definition):
        return [(found, rest)]
    bindings = module.bindings
    several: list[tuple[Meaning | None, str]] = []
    several += ((Definition(module, head, node), rest) for node in bindings.definitions.get(head, ()))
    for target in bindings.imports.get(head, ()):
        several += imported(index, module, target, rest, depth)
    if not several:
        for star in bindings.stars:
            several += imported(index, module, star, name, depth)
    return several or [(None, "")]


def imported(
    index: Index, module: Module, target: Import, rest: str, depth: int = 0
) -> list[tuple[Meaning | None, str]]:
    """Return the meanings of an import, or of an attribute of the imported object; see `meanings`."""
    full = f"{target.target}.{rest}" if rest else target.target
    found = index.resolve_absolute(module, full, relative=target.relative)
    if found is not None:
        return [(found, "")]
    *parts, last = full.split(".")
    for at in range(len(parts), 0, -1):
        origin = index.resolve_absolute(module, ".".join(parts[:at]), relative=target.relative)
        if isinstance(origin, Package) and origin.module is not None:
            return meanings(index, origin.module, ".".join([*parts[at:], last]), depth + 1)
    return [(None, "")]


def _called(index: Index, meaning: Meaning | None, rest: str, depth: int) -> tuple[Callee, ...]:
    """Return the functions that calling a meaning, or an attribute of it, may run."""
    if isinstance(meaning, External):
        return (f"{meaning.qualname}.{rest}" if rest else meaning.qualname,)
    match getattr(meaning, "node", None):
        case ast.FunctionDef() as function if isinstance(meaning, Definition) and not rest:
            is_plain = all(_keeps(index, meaning.module, each) for each in function.decorator_list)
            return (Body(meaning.module, function, is_plain),)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ) if isinstance(meaning, Definition):
            if isinstance(value, ast.Constant) and value.value is None:
                return ()
            if isinstance(value, ast.Name) and value.id == name:
                return (None,)
            found = callees(index, meaning.module, value, depth + 1)
            return tuple((f"{each}.{rest}" if isinstance(each, str) else None) if rest else each for each in found)
        case _:
            return (None,)


def local_scope(module: Module, node: ast.AST, name: str) -> Scope | None:
    """Return the function or comprehension scope that binds a name where it is read; None for names of the module.

    The module's own scope is skipped: building it would traverse the whole file.
    """
    start = scope_of(module, node)
    for scope in start.chain():
        if scope.parent is None or name in scope.globals:
            return None
        if name in scope.locals and (scope is start or not scope.is_class):
            return scope
    return None


def _keeps(index: Index, module: Module, decorator: ast.expr) -> bool:
    """True if a decorator keeps the function's behaviour: `@jax.jit`, `@partial(jax.jit, donate=0)`, ..."""
    found = callee(index, module, decorator)
    if found is None and isinstance(decorator, ast.Call):
        found = callee(index, module, decorator.func)
    return found in _WRAPPERS


def bindings_of(holder: Scope, name: str) -> list[ast.AST]:
    """Return the statements that bind a name in a function, without its parameters."""
    body = getattr(holder.node, "body", ())
    return assignments(body, name) if isinstance(body, list) else []
