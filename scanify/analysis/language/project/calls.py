"""Calls of functions and objects of the project: their bodies are walked with the types of the arguments."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scanify.analysis.index.meaning import Definition
from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.base import Base
from scanify.analysis.language.names import names_of
from scanify.analysis.language.syntax.operators import why_of

_MOST = 40  # calls that are walked for one loop; more are an obligation


class Calls(Base):
    """The part of the walker that calls what the project defines."""

    walked: int

    def call(
        self, env: t.Env, node: ast.expr, callee: t.Type, args: Sequence[t.Type], keywords: Mapping[str, t.Type]
    ) -> t.Type:
        return t.join(self._call_one(env, node, each, args, keywords) for each in t.options(t.without_none(callee)))

    def _call_one(
        self, env: t.Env, node: ast.expr, callee: t.Type, args: Sequence[t.Type], keywords: Mapping[str, t.Type]
    ) -> t.Type:
        match callee:
            case t.Function():
                return self.call_function(env, node, callee, args, keywords)
            case t.LibraryFunction():
                return self.call_library(env, node, callee, args, keywords)
            case t.LibraryObject():
                return self.call_library_object(env, node, callee, args, keywords)
            case t.ClassOf(cls=Definition() as cls):
                return self.construct(env, node, cls, args, keywords)
            case t.ClassOf(cls=str(qualname)):
                return self.construct_library(env, node, qualname, args, keywords)
            case t.Object():
                return self.call(env, node, self.attribute(env, node, callee, "__call__"), args, keywords)
            case t.Applied():
                return self.call_applied(env, node, callee, args, keywords)
            case t.Unknown():
                return self.unknown(env.module, node, callee)
            case _:
                target = node.func if isinstance(node, ast.Call) else node
                return self.note(env.module, node, why_of(target, callee))

    def call_function(
        self, env: t.Env, node: ast.AST, function: t.Function, args: Sequence[t.Type], keywords: Mapping[str, t.Type]
    ) -> t.Type:
        inner = function.node
        if function.bound is not None:
            args = [function.bound, *args]
        making = self.is_made_now(function.bound)
        if self.muted and not making and not isinstance(inner, ast.Lambda):
            return self._declared_result(function)
        if inner in self.active:
            return self.note(env.module, node, "it calls itself")
        if isinstance(inner, ast.AsyncFunctionDef) or names_of(inner).yields:
            return self.note(env.module, node, "it waits, or is a generator")
        self.walked += 1
        if self.walked > _MOST:
            return self.note(env.module, node, f"more than {_MOST:,} calls are read for this loop")
        names = self._bound(function, args, keywords)
        if names is None:
            return self.note(env.module, node, "its arguments do not fit the parameters that are shown")
        home = t.Env(function.module, names, function.around, facts=names_of(inner))
        if making and not isinstance(inner, ast.Lambda):
            home = replace(home, own=next(iter(names), ""))
        self.active.append(inner)
        if isinstance(inner, ast.Lambda):
            found = self.evaluate(inner.body, home)
        else:
            returned: list[t.Type] = []
            if self.run(inner.body, home, returned):
                returned.append(t.Nothing())
            found = t.join(returned)
        self.active.pop()
        return found

    def _declared_result(self, function: t.Function) -> t.Type:
        """The type of the result of a call before the loop: that of the annotation, as the function is not walked."""
        node = function.node
        assert not isinstance(node, ast.Lambda)
        if node.returns is None and not names_of(node).yields:
            return t.Given(f"{node.name}()", function.module.place(node).named, returned=True)
        declared = self.annotated(function.module, node.returns, t.Env(function.module, {}, function.around))
        return declared or t.Unknown(f"`{node.name}` has no annotation that shows what it returns")

    def _bound(
        self, function: t.Function, args: Sequence[t.Type], keywords: Mapping[str, t.Type]
    ) -> dict[str, t.Type] | None:
        """The types of the parameters in a call; None if the arguments do not fit."""
        given = function.node.args
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

    def decorated(self, function: t.Function, env: t.Env) -> t.Type:
        """A function as its decorators leave it; calls among those of local functions would run in the iteration."""
        for each in getattr(function.node, "decorator_list", ()):
            with self.silent():
                target = self.evaluate(each.func if isinstance(each, ast.Call) else each, env)
            qualname = target.qualname if isinstance(target, t.LibraryFunction) else ""
            if qualname not in tables.DECORATORS or (function.around is not None and isinstance(each, ast.Call)):
                return self.note(function.module, each, "a decorator that is not listed")
        return function
