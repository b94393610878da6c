"""The scopes of a file: where a name read at some place was bound.

    scope_of(module, node)     the scope that a node is evaluated in
    inner_scope(module, node)  the scope that a function, lambda, class, comprehension or module opens

Decorators, defaults and annotations are evaluated outside of their function, the first iterable of a comprehension
outside of the comprehension. Each node has a single scope object: compare scopes with `is`.
"""

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from scanify.analysis.index.module import Module
from scanify.analysis.lower.bound import evaluated_here, names_bound_by
from scanify.analysis.lower.nodes import children, kept, names_in
from scanify.analysis.lower.text import called, dotted

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Opens: TypeAlias = ast.Module | Function | ast.Lambda | ast.ClassDef | Comprehension
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
OPENS = (ast.Module, *FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)


class Scope:
    """One scope.

    `parent` is the scope around it, None for the module's; `locals` are the names bound in it, including parameters and
    type parameters, but not names that it declares `global` or `nonlocal`. The module's also hold names that a function
    declares `global`.
    """

    def __init__(self, module: Module, node: Opens, parent: "Scope | None") -> None:
        self.module = module
        self.node = node
        self.parent = parent

    def __repr__(self) -> str:
        return f"<Scope {self.name}>"

    @property
    def name(self) -> str:
        """The name of the function or class; `<lambda>`, `<module>` or `<listcomp>` if there is none."""
        return getattr(self.node, "name", None) or f"<{type(self.node).__name__.lower()}>"

    @property
    def is_function(self) -> bool:
        """True for a `def` or a lambda."""
        return isinstance(self.node, (*FUNCTIONS, ast.Lambda))

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)

    @cached_property
    def params(self) -> tuple[str, ...]:
        """The names of the parameters in order, including `*args` and `**kwargs`."""
        return tuple(arg.arg for arg in parameters(self.node))

    @cached_property
    def locals(self) -> frozenset[str]:
        return frozenset(self._bound - self.globals - self.nonlocals) | frozenset(self.params)

    @cached_property
    def globals(self) -> frozenset[str]:
        """The names that this scope declares `global`."""
        return self._declared("global ", ast.Global)

    @cached_property
    def nonlocals(self) -> frozenset[str]:
        """The names that this scope declares `nonlocal`."""
        return self._declared("nonlocal ", ast.Nonlocal)

    def _declared(self, word: str, kind: type[ast.Global | ast.Nonlocal]) -> frozenset[str]:
        if not self.module.writes(word) or not isinstance(self.node, (*FUNCTIONS, ast.ClassDef)):
            return frozenset()
        return frozenset(name for node in own_nodes(self.node) if isinstance(node, kind) for name in node.names)

    @cached_property
    def method(self) -> "Scope | None":
        """The method that is this scope or encloses it, through functions and comprehensions; None outside methods."""
        for scope in self.chain():
            if scope.is_class:
                return None
            if scope.is_function and scope.parent is not None and scope.parent.is_class:
                return scope
        return None

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class of the enclosing method."""
        node = self.method.parent.node if self.method is not None and self.method.parent is not None else None
        return node if isinstance(node, ast.ClassDef) else None

    @cached_property
    def self_name(self) -> str | None:
        """The name of the instance in the enclosing method; None if it is rebound or a static or class method."""
        method = self.method
        if method is None or not isinstance(method.node, FUNCTIONS) or not method.params:
            return None
        args = method.node.args
        if not (args.posonlyargs or args.args) or {"staticmethod", "classmethod"} & set(_decorators(method.node)):
            return None
        name = method.params[0]
        return name if self.binding(name) is method else None

    @property
    def function(self) -> "Scope":
        """The nearest function, lambda, class or module: this scope, or the one around its comprehension."""
        scope = self
        while isinstance(scope.node, COMPREHENSIONS) and scope.parent is not None:
            scope = scope.parent
        return scope

    def chain(self) -> Iterator["Scope"]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def binding(self, name: str) -> "Scope | None":
        """Return the scope that binds a name as seen from here; None for a builtin, or if nothing binds it.

        A class body is visible only from itself, not from its methods.
        """
        for scope in self.chain():
            if name in scope.globals:
                return next(each for each in scope.chain() if each.parent is None)
            if name in scope.locals and (scope is self or not scope.is_class):
                return scope
        return None

    def builtin(self, call: ast.AST | None) -> str | None:
        """Return the name of the builtin that a call calls, None otherwise: a file may have its own `zip`."""
        name = called(call)
        return name if name is not None and "." not in name and self.binding(name) is None else None

    def qualified(self, node: ast.AST | None) -> str | None:
        """Return the qualified name of an imported object: `jax.numpy.sum` for `jnp.sum`, `jax.jit` for `jit`.

        None unless an import alone binds the name.
        """
        name = dotted(node)
        if name is None:
            return None
        first, _, rest = name.partition(".")
        holder, imported = self.binding(first), self.module.imports.get(first)
        if imported is None or (holder is not None and holder.parent is not None) or first in self.module.rebound:
            return None
        if first in self.module.definitions:  # the file binds it twice
            return None
        return f"{imported}.{rest}" if rest else imported

    @cached_property
    def _bound(self) -> set[str]:
        if isinstance(self.node, ast.Module) and not self.module.writes(":="):
            return {*self.module.definitions, *self.module.imports, *self.module.rebound}
        bound = {name for node in own_nodes(self.node) for name in names_bound_by(node)}
        if isinstance(self.node, ast.Module):
            bound |= self.module.rebound
        if isinstance(self.node, COMPREHENSIONS):  # a `:=` in it binds in the function around
            bound = names_in(level.target for level in self.node.generators)
        return bound


def parameters(node: ast.AST) -> tuple[ast.arg, ...]:
    """Return the parameters of a function or lambda in order."""
    if not isinstance(node, (*FUNCTIONS, ast.Lambda)):
        return ()
    args = node.args
    starred = [args.vararg] if args.vararg is not None else []
    double = [args.kwarg] if args.kwarg is not None else []
    return (*args.posonlyargs, *args.args, *starred, *args.kwonlyargs, *double)


def own_nodes(node: Opens) -> Iterator[ast.AST]:
    """Yield the nodes evaluated in the scope that a node opens, including inner functions and classes themselves.

    Of inner functions and classes, it yields the parts evaluated here: decorators, defaults, bases, annotations. It
    descends into comprehensions, except into their targets.
    """
    stack: list[ast.AST] = []
    match node:
        case ast.Lambda():
            stack = [node.body]
        case ast.Module() | ast.ClassDef():
            stack = list(node.body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            stack = [*node.body, *getattr(node, "type_params", ())]
        case _:
            stack = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            stack += node.generators
    while stack:
        current = stack.pop()
        yield current
        stack.extend(evaluated_here(current))


class _Scopes:
    """The parent of each node of one file, and the scope that it is evaluated in."""

    def __init__(self, module: Module) -> None:
        self.top = Scope(module, module.tree, None)
        self.parents: dict[ast.AST, ast.AST] = {}
        self.around: dict[ast.AST, Scope] = {module.tree: self.top}
        self.inner: dict[ast.AST, Scope] = {module.tree: self.top}
        nodes: list[ast.AST] = [module.tree]
        for node in nodes:  # grows during iteration
            below = children(node)
            nodes += below
            outer = inner = self.around[node]
            if isinstance(node, OPENS) and node is not module.tree:
                inner = self.inner[node] = Scope(module, node, outer)
            for child in below:
                self.parents[child], self.around[child] = node, inner
            if isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                self.around.update(dict.fromkeys(evaluated_here(node), outer))
            holder = self.parents.get(node)
            if isinstance(holder, COMPREHENSIONS) and node is holder.generators[0]:
                self.around[holder.generators[0].iter] = self.around[holder]

    def of(self, node: ast.AST) -> Scope:
        while node not in self.around:  # created by a lowering
            if node not in self.parents:
                return self.top
            node = self.parents[node]
            if node in self.inner:
                return self.inner[node]
        return self.around[node]


def scope_of(module: Module, node: ast.AST) -> Scope:
    """Return the scope that a node is evaluated in; for a function, a class or a comprehension the scope around it."""
    return _scopes(module).of(node)


def inner_scope(module: Module, node: Opens) -> Scope:
    """Return the scope that a function, a lambda, a class, a comprehension or the module itself opens."""
    return _scopes(module).inner[node]


def parent_of(module: Module, node: ast.AST) -> ast.AST | None:
    """Return the parent of a node; None for the module, and for a node of another tree."""
    return _scopes(module).parents.get(node)


def ancestors(module: Module, node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes around a node, innermost first."""
    parents = _scopes(module).parents
    above = parents.get(node)
    while above is not None:
        yield above
        above = parents.get(above)


def adopt(module: Module, node: ast.AST, parent: ast.AST) -> None:
    """Make a node created by a lowering a child of `parent`; its descendants keep their parents."""
    _scopes(module).parents[node] = parent


def stand_in(module: Module, new: ast.AST, old: ast.AST) -> None:
    """Give a changed copy of a node the parent and the scopes of the node."""
    scopes = _scopes(module)
    for table in (scopes.parents, scopes.around, scopes.inner):
        if old in table:
            table[new] = table[old]  # type: ignore[assignment]


def _scopes(module: Module) -> _Scopes:
    return kept(module.tree, "_scopes", lambda: _Scopes(module))


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    return (each.id for each in node.decorator_list if isinstance(each, ast.Name))
