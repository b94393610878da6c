"""Calls of functions and objects of the project: their bodies are walked with the types of the arguments."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scanify.analysis.index.meaning import Definition
from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.names import names_of
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    Applied,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    LibraryFunction,
    LibraryObject,
    Nothing,
    Object,
    Type,
    Union,
    Unknown,
    is_fixed,
    join,
    options,
    without_none,
)
from scanify.analysis.lower.text import dotted

_MOST = 100  # calls that are walked for one loop; more are an obligation
_KINDS = frozenset({"staticmethod", "classmethod", "property"})
_SAME = frozenset("jaxtyping.jaxtyped beartype.beartype functools.wraps".split()) | tables.DECORATORS


class Calls(Base):
    """The part of the walker that calls what the project defines."""

    walked: int

    def call(self, env: Env, node: ast.expr, callee: Type, args: Sequence[Type], keywords: Mapping[str, Type]) -> Type:
        if not isinstance(callee, Union):
            return self._call_one(env, node, callee, args, keywords)
        return join(self._call_one(env, node, each, args, keywords) for each in options(without_none(callee)))

    def _call_one(
        self, env: Env, node: ast.expr, callee: Type, args: Sequence[Type], keywords: Mapping[str, Type]
    ) -> Type:
        match callee:
            case Function():
                return self.call_function(callee, args, keywords, (env, node))
            case LibraryFunction():
                return self.call_library(env, node, callee, args, keywords)
            case LibraryObject():
                return self.call_library_object(env, node, callee, args, keywords)
            case ClassOf(cls=Definition() as cls):
                return self.construct(env, node, cls, args, keywords)
            case ClassOf(cls=str(qualname)):
                return self.construct_library(env, node, qualname, args, keywords)
            case Object(cls=cls):
                return self._call_object(env, node, callee, cls, args, keywords)
            case Applied():
                return self.call_applied(env, node, callee, args, keywords)
            case Unknown():
                return self.unknown(env.module, node, callee)
            case _:
                target = node.func if isinstance(node, ast.Call) else node
                return self.note(env.module, node, why_of(target, callee))

    def _call_object(
        self,
        env: Env,
        node: ast.expr,
        value: Object,
        cls: Definition,
        args: Sequence[Type],
        keywords: Mapping[str, Type],
    ) -> Type:
        """Call an object by the `__call__` of every class that it may be of."""
        found: list[Type] = []
        for each in self.alternatives(value):
            if not self.understood_class(env, node, each):
                found.append(Unknown(f"the class `{each.name}` is not understood"))
                continue
            method = self.classes.method(each, "__call__")
            this = value if each is cls else Object(each)
            if method is not None:
                if _is_abstract(method[1]):
                    continue
                target = self.in_class(env, node, this, each, "__call__") or Unknown("its `__call__` is not shown")
                found.append(self.call(env, node, target, args, keywords))
                continue
            library = self.classes.library_base(each, "__call__")
            if library is not None:
                found.append(self.call(env, node, LibraryObject(library), args, keywords))
            elif each is cls and not self.classes.heirs(cls):
                found.append(self.note(env.module, node, f"`{each.name}` has no `__call__` that is shown"))
        if not found:
            return self.note(env.module, node, f"no class with a `__call__` that is shown inherits from `{cls.name}`")
        return join(found)

    # -- functions -------------------------------------------------------------------------------------------------

    def call_function(
        self,
        function: Function,
        args: Sequence[Type],
        keywords: Mapping[str, Type],
        at: tuple[Env, ast.AST] | None = None,
    ) -> Type:
        node, module = function.node, function.module
        if function.bound is not None:
            args = [function.bound, *args]
        making = self.is_made_now(function.bound)
        if self.muted and not making and not isinstance(node, ast.Lambda):
            return self._declared_result(function)
        if node in self.active:
            home, place = at or (Env(module), node)
            return self.note(home.module, place, "it calls itself")
        self.walked += 1
        if self.walked > _MOST:
            home, place = at or (Env(module), node)
            return self.note(home.module, place, f"more than {_MOST:,} calls are read for this loop")
        env = Env(module, {}, function.around, function.owner, "", function.bound, names_of(node))
        if not self._bind_arguments(env, function, args, keywords):
            home, place = at or (Env(module), node)
            return self.note(home.module, place, "its arguments do not fit the parameters that are shown")
        if making and not isinstance(node, ast.Lambda):
            first = [*node.args.posonlyargs, *node.args.args][:1]
            env = replace(env, own=first[0].arg if first else "")
        self.active.append(node)
        found = self._result(function, env, at)
        self.active.pop()
        return found

    def _result(self, function: Function, env: Env, at: tuple[Env, ast.AST] | None) -> Type:
        node = function.node
        if isinstance(node, ast.Lambda):
            return self.evaluate(node.body, env)
        home, place = at or (env, node)
        if isinstance(node, ast.AsyncFunctionDef):
            return self.note(home.module, place, "it waits")
        if names_of(node).yields:
            return self.note(home.module, place, "it is a generator")
        returned: list[Type] = []
        if self.run(node.body, env, returned):
            returned.append(Nothing())
        return join(returned)

    def _declared_result(self, function: Function) -> Type:
        """The type of the result of a call before the loop: that of the annotation, as the function is not walked."""
        node = function.node
        assert not isinstance(node, ast.Lambda)
        home = Env(function.module, {}, function.around)
        if node.returns is None and not names_of(node).yields:
            return Given(f"{node.name}()", function.module.place(node).named, returned=True)
        declared = self.annotated(function.module, node.returns, home)
        return declared or Unknown(f"`{node.name}` has no annotation that shows what it returns")

    def _bind_arguments(self, env: Env, function: Function, args: Sequence[Type], keywords: Mapping[str, Type]) -> bool:
        given = function.node.args
        plain = [*given.posonlyargs, *given.args]
        names = env.names
        rest = dict(keywords)
        for each, value in zip(plain, args, strict=False):
            names[each.arg] = value
        if len(args) > len(plain) and given.vararg is None:
            return False
        if given.vararg is not None:
            names[given.vararg.arg] = Items("tuple", tuple(args[len(plain) :]), None, self.own)
        for each in (*given.args, *given.kwonlyargs):
            if each.arg in rest:
                if each.arg in names:
                    return False
                names[each.arg] = rest.pop(each.arg)
        if rest and given.kwarg is None:
            return False
        if given.kwarg is not None:
            names[given.kwarg.arg] = Items("dict", None, join(rest.values()), self.own)
        home = Env(function.module, {}, function.around)
        defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
        for each, default in [
            *zip(plain, defaults, strict=True),
            *zip(given.kwonlyargs, given.kw_defaults, strict=True),
        ]:
            if each.arg not in names and default is not None:
                with self.silent():
                    found = self.evaluate(default, home)
                if not is_fixed(found):
                    found = Unknown(f"`{each.arg}` has a default that code may change")
                names[each.arg] = found
            if each.arg not in names:
                return False
            names[each.arg] = self._as_declared(function, each, names[each.arg])
        return True

    def _as_declared(self, function: Function, arg: ast.arg, value: Type) -> Type:
        """The type of an argument; that of the annotation where the caller's value has none."""
        if isinstance(value, Given) and arg.annotation is not None:
            declared = self.annotated(function.module, arg.annotation)
            return declared if declared is not None else value
        return value

    def decorated(self, function: Function, env: Env) -> Type:
        """A function as its decorators leave it, which run where it is defined: in the iteration, if it is local."""
        if function.around is None:
            with self.silent():
                return self._decorated(function, env)
        return self._decorated(function, env)

    def _decorated(self, function: Function, env: Env) -> Type:
        found: Type = function
        for each in reversed(getattr(function.node, "decorator_list", ())):
            target = self.evaluate(each.func if isinstance(each, ast.Call) else each, env)
            qualname = target.qualname if isinstance(target, LibraryFunction) else ""
            if qualname == "functools.partial" and isinstance(each, ast.Call) and each.args:
                inner = self.evaluate(each.args[0], env)
                qualname = inner.qualname if isinstance(inner, LibraryFunction) else ""
            if qualname in tables.CALLERS and qualname not in _SAME:
                found = Applied(qualname, found)
            elif qualname not in _SAME and dotted(each) not in _KINDS:
                return self.note(function.module, each, "a decorator that is not listed")
        return found


def _is_abstract(function: ast.AST) -> bool:
    decorators = getattr(function, "decorator_list", ())
    return any((dotted(each) or "").endswith("abstractmethod") for each in decorators)
