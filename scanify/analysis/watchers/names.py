"""What a function's name stands for where it is read: a function of a library, or one whose body is in the project."""

import ast
from dataclasses import dataclass
from typing import TypeAlias

from scanify.analysis.flow.statements import assignments
from scanify.analysis.index import Definition, External, Index, Meaning, Module, Package
from scanify.analysis.index.bindings import Import
from scanify.analysis.lower.scope import Scope, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.library import KINDS

_MAX_STEPS = 12  # from one name to another
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
    """Return what an expression calls; of several functions the first if one table lists all of them."""
    found = list(dict.fromkeys(callees(index, module, node)))
    if len(found) == 1:
        return found[0]
    known = [each for each in found if isinstance(each, str)]
    same = len({KINDS.get(each) for each in known}) == 1 and known[0] in KINDS
    return known[0] if same and all(each in known or each is None for each in found) else None


def callees(index: Index, module: Module, node: ast.expr, depth: int = 0) -> tuple[Callee, ...]:
    """Return everything that an expression may call. None stands for a function that is not shown.

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
        if (imported := imported_in_place(node)) is not None:
            return (imported,)
        wrapped = callees(index, module, node.func, depth + 1)
        inside = node.args[:1] if all(each in _WRAPPERS for each in wrapped) else []
        return tuple(each for part in inside for each in callees(index, module, part, depth + 1)) or (None,)
    name = dotted(node)
    if name is None:
        return (imported_in_place(node),)
    first, _, rest = name.partition(".")
    holder = local_scope(module, node, first)
    if holder is not None:
        return _local(index, holder, first, rest, depth)
    return _called(index, meanings(index, module, name, depth), depth) or (None,)


def meanings(index: Index, module: Module, name: str, depth: int = 0) -> list[tuple[Meaning | None, str]]:
    """Return everything that a dotted name of a module may stand for, each with what follows it of the name.

    None stands for what is not shown. A name that several statements bind stands for what each of them gives it.
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
    """Return what an import, or an attribute of what it binds, may stand for; see `meanings`."""
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


def _called(index: Index, found: list[tuple[Meaning | None, str]], depth: int) -> tuple[Callee, ...]:
    callees: list[Callee] = []
    for meaning, rest in found:
        if isinstance(meaning, External):
            callees.append(f"{meaning.qualname}.{rest}" if rest else meaning.qualname)
        elif isinstance(meaning, Definition):
            callees += _bound_by(index, meaning.module, meaning.name, meaning.node, rest, depth)
        else:
            callees.append(None)
    return tuple(callees)


def _bound_by(index: Index, module: Module, name: str, node: ast.AST, rest: str, depth: int) -> tuple[Callee, ...]:
    """What a name, or an attribute of it, may call where a statement binds it."""
    match node:
        case ast.FunctionDef() if not rest:
            return (Body(module, node),)
        case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=ast.expr() as value):
            if isinstance(value, ast.Constant) and value.value is None:
                return ()
            if isinstance(value, ast.Name) and value.id == name:
                return (None,)
            found = callees(index, module, value, depth + 1)
            return tuple((f"{each}.{rest}" if isinstance(each, str) else None) if rest else each for each in found)
        case _:
            return (None,)


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


def is_decorated(index: Index, body: Body) -> bool:
    """True if a decorator may make another function of one: all but `@jax.jit`, `@partial(jax.jit, donate=0)`, ..."""
    decorators = [] if isinstance(body.node, ast.Lambda) else body.node.decorator_list
    return not all(_is_kept_by(index, body.module, each) for each in decorators)


def _is_kept_by(index: Index, module: Module, decorator: ast.expr) -> bool:
    found = callee(index, module, decorator)
    if found is None and isinstance(decorator, ast.Call):
        found = callee(index, module, decorator.func)
    return found in _WRAPPERS


def _local(index: Index, holder: Scope, name: str, rest: str, depth: int) -> tuple[Callee, ...]:
    """What a name that a function around binds, or an attribute of it, may call."""
    if name in holder.params:
        return (None,)
    found: list[Callee] = []
    for node in bindings_of(holder, name):
        if isinstance(node, ast.Import | ast.ImportFrom):
            target = holder.module.imported(node)[name]
            found += _called(index, imported(index, holder.module, target, rest, depth), depth)
        else:
            found += _bound_by(index, holder.module, name, node, rest, depth)
    return tuple(found) or (None,)


def bindings_of(holder: Scope, name: str) -> list[ast.AST]:
    """Return the statements that bind a name in a function, parameters left out."""
    body = getattr(holder.node, "body", ())
    return assignments(body, name) if isinstance(body, list) else []
