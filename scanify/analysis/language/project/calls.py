"""Calls of functions, objects and classes of the project, which are interpreted with the types of the arguments."""

import ast

from scanify.analysis.index.meaning import Definition
from scanify.analysis.language import types as t
from scanify.analysis.language.libraries.calls import Libraries
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.lower.scope import inner_scope, own_nodes

_MOST = 30  # calls that are interpreted for one loop; more are an obligation
_HOOKS = ("__post_init__", "__check_init__")
_CALLING = frozenset({"converter", "default_factory"})  # arguments of `field` that are called


class Calls(Libraries):
    """The part of the walker that calls code of the project."""

    def call(self, env: t.Env, node: ast.expr, callee: t.Type, args: t.Types, keywords: t.Named) -> t.Type:
        """Call a value of any type."""
        return t.join(self._call_one(env, node, each, args, keywords) for each in t.options(t.without_none(callee)))

    def _call_one(self, env: t.Env, node: ast.expr, callee: t.Type, args: t.Types, keywords: t.Named) -> t.Type:
        match callee:
            case t.Function():
                return self.call_function(env, node, callee, args, keywords)
            case t.LibraryFunction():
                return self.call_library(env, node, callee, args, keywords)
            case t.LibraryObject():
                return self.call_library_object(env, node, callee, args, keywords)
            case t.ClassOf(cls=cls):
                return self._construct(env, node, cls, args, keywords)
            case t.Object():
                return self.call(env, node, self.attribute(env, node, callee, "__call__"), args, keywords)
            case t.Mapped():
                return self.call_mapped(env, node, callee, args, keywords)
            case t.Unknown():
                return self.unknown(env.module, node, callee)
            case _:
                target = node.func if isinstance(node, ast.Call) else node
                return self.note(env.module, node, why_of(target, callee))

    def call_function(
        self, env: t.Env, node: ast.AST, function: t.Function, args: t.Types, keywords: t.Named
    ) -> t.Type:
        if self.muted and not isinstance(function.node, ast.Lambda):
            return self._declared_result(function)
        return self._walk(env, node, function, self._bound(function, args, keywords))

    def _walk(
        self, env: t.Env, node: ast.AST, function: t.Function, names: dict[str, t.Type] | None, *, making: bool = False
    ) -> t.Type:
        """Interpret a function with the types of its parameters; with `making` it is a constructor."""
        inner, module = function.node, env.module
        if inner in self.active:
            return self.note(module, node, "it calls itself")
        if isinstance(inner, ast.AsyncFunctionDef) or _yields(inner):
            return self.note(module, node, "it waits, or is a generator")
        self.walked += 1
        if self.walked > _MOST:
            return self.note(module, node, f"more than {_MOST:,} calls are read for this loop")
        if names is None:
            return self.note(module, node, "its arguments do not fit the parameters that are shown")
        scope = inner_scope(function.module, inner)
        own = scope.params[0] if making and scope.params else ""
        home = t.Env(function.module, names, function.around, scope, own=own)
        self.active.append(inner)
        returned: list[t.Type] = []
        if isinstance(inner, ast.Lambda):
            returned = [self.evaluate(inner.body, home)]
        elif self.run(inner.body, home, returned):
            returned.append(t.Nothing())
        self.active.pop()
        return t.join(returned)

    def _declared_result(self, function: t.Function) -> t.Type:
        """Return the annotated type of the result of a call before the loop, which is not interpreted."""
        node = function.node
        assert not isinstance(node, ast.Lambda)
        if node.returns is None and not _yields(node):
            return t.Given(f"{node.name}()", function.module.place(node).named)
        declared = self.annotated(function.module, node.returns)
        return declared or t.Unknown(f"`{node.name}` has no annotation that shows what it returns")

    def _bound(self, function: t.Function, args: t.Types, keywords: t.Named) -> dict[str, t.Type] | None:
        """Return the types of the parameters in a call; None if the arguments do not fit."""
        given = function.node.args
        args = args if function.bound is None else [function.bound, *args]
        plain = [*given.posonlyargs, *given.args]
        by_name = {each.arg for each in (*given.args, *given.kwonlyargs)}
        names = {each.arg: value for each, value in zip(plain, args, strict=False)}
        rest = {name: value for name, value in keywords.items() if name not in by_name}
        named = {name: value for name, value in keywords.items() if name in by_name}
        if (len(args) > len(plain) and given.vararg is None) or (rest and given.kwarg is None) or names.keys() & named:
            return None
        names |= named
        defaults = [*[None] * (len(plain) - len(given.defaults)), *given.defaults, *given.kw_defaults]
        for each, default in zip([*plain, *given.kwonlyargs], defaults, strict=True):
            if each.arg not in names:
                if default is None:
                    return None
                names[each.arg] = self._default(function, each.arg, default)
        if given.vararg is not None:
            names[given.vararg.arg] = t.Items("tuple", tuple(args[len(plain) :]), None, self.own)
        if given.kwarg is not None:
            names[given.kwarg.arg] = t.Items("dict", None, t.join(rest.values()) if rest else None, self.own)
        return names

    def _default(self, function: t.Function, name: str, default: ast.expr) -> t.Type:
        with self.silent():
            found = self.evaluate(default, t.Env(function.module, {}, function.around))
        return found if t.is_fixed(found) else t.Unknown(f"`{name}` has a default that code may change")

    # -- constructors ------------------------------------------------------------------------------------------------

    def _construct(self, env: t.Env, node: ast.expr, cls: Definition, args: t.Types, keywords: t.Named) -> t.Type:
        if not self.understood_class(env, node, cls):
            return t.Unknown(f"the class `{cls.name}` is not understood", noted=not self.muted)
        if not self.muted:
            method = self._constructor(env, node, cls)
            if method is not None:
                self._walk(env, node, method, self._bound(method, args, keywords), making=True)
            elif (args or keywords) and not self.classes.is_dataclass(cls):
                self.note(env.module, node, f"`{cls.name}` has no constructor that is shown")
        return t.Object(cls, exact=True)

    def fields_made(self, cls: Definition) -> dict[str, t.Type]:
        """Return the types of the fields that a constructor stores, given the annotations of its parameters."""
        method = self._constructor(t.Env(cls.module), cls.node, cls)
        if method is None:
            return {}
        scope = inner_scope(method.module, method.node)
        names = {name: self.parameter(scope, name) for name in scope.params}
        names |= {name: t.Object(cls, exact=True) for name in scope.params[:1]}
        self._walk(t.Env(method.module), method.node, method, names, making=True)
        return {name.partition(".")[2]: value for name, value in names.items() if "." in name}

    def _constructor(self, env: t.Env, node: ast.AST, cls: Definition) -> t.Function | None:
        """Return the constructor of a class as a bound method; an explicit `__init__` calls no `__post_init__`."""
        method = self.classes.method(cls, "__init__")
        hooks = [each for each in _HOOKS[method is not None :] if self.classes.method(cls, each)]
        called = (each.arg for field in self.classes.fields(cls).values() for each in field.keywords)
        for name in (*hooks, *(each for each in called if each in _CALLING)):
            self.note(env.module, node, f"`{cls.name}` has a `{name}`, which is not followed")
        if method is None:
            return None
        return t.Function(method[0].module, method[1], None, t.Object(cls, exact=True))


def _yields(node: t.FunctionNode) -> bool:
    """True for generators."""
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own_nodes(node))
