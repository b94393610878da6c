"""Constructors of the project: what they do, and the types of the fields that they store."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.language.base import Base

_HOOKS = ("__post_init__", "__check_init__")
_CALLING = frozenset({"converter", "default_factory"})  # arguments of `field` that are called


class Constructors(Base):
    """The part of the walker that runs constructors; `making` are the objects that are made, with their fields."""

    making: list[tuple[t.Object, dict[str, t.Type]]]
    stored: dict[ast.AST, dict[str, t.Type]]

    def construct(
        self, env: t.Env, node: ast.expr, cls: Definition, args: Sequence[t.Type], keywords: Mapping[str, t.Type]
    ) -> t.Type:
        if not self.understood_class(env, node, cls):
            return t.Unknown(f"the class `{cls.name}` is not understood", noted=not self.muted)
        if not self.muted:
            self.run_constructor(env, node, cls, args, keywords)
        return t.Object(cls, exact=True)

    def run_constructor(
        self, env: t.Env, node: ast.AST, cls: Definition, args: Sequence[t.Type], keywords: Mapping[str, t.Type]
    ) -> dict[str, t.Type]:
        """Walk the constructor of a class and return the types of the fields that it stores."""
        method = self.classes.method(cls, "__init__")
        self._note_hooks(env, node, cls, own=method is not None)
        if method is None:
            if (args or keywords) and not self.classes.is_dataclass(cls):
                self.note(env.module, node, f"`{cls.name}` has no constructor that is shown")
            return {}
        owner, function = method
        this, made = t.Object(cls, exact=True), dict[str, t.Type]()
        self.making.append((this, made))
        self.call_function(env, node, t.Function(owner.module, function, None, this), args, keywords)
        self.making.pop()
        return made

    def _note_hooks(self, env: t.Env, node: ast.AST, cls: Definition, *, own: bool) -> None:
        """Note functions that run before or behind a constructor; one of the class's own has no `__post_init__`."""
        hooks = [each for each in _HOOKS[own:] if self.classes.method(cls, each)]
        keywords = (each.arg for field in self.classes.fields(cls).values() for each in field.keywords)
        for name in (*hooks, *(each for each in keywords if each in _CALLING)):
            self.note(env.module, node, f"`{cls.name}` has a `{name}`, which is not followed")

    def stored_by_constructor(self, cls: Definition, name: str) -> t.Type | None:
        """What the constructor of a class stores in a field when it is called with anything that it declares."""
        if cls.node not in self.stored:
            self.stored[cls.node] = {}  # while its constructor is walked
            with self.silent():
                self.stored[cls.node] = self.run_as_declared(cls)
        return self.stored[cls.node].get(name)

    def run_as_declared(self, cls: Definition) -> dict[str, t.Type]:
        """Walk the constructor of a class with what its annotations declare for its arguments."""
        method = self.classes.method(cls, "__init__")
        if method is None:
            return self.run_constructor(t.Env(cls.module), cls.node, cls, [], {})
        module, function = method[0].module, method[1]
        plain = [*function.args.posonlyargs, *function.args.args][1:]
        named = {each.arg: self.declared_argument(module, each) for each in function.args.kwonlyargs}
        args = [self.declared_argument(module, each) for each in plain]
        return self.run_constructor(t.Env(module), function, cls, args, named)

    def declared_argument(self, module: Module, arg: ast.arg) -> t.Type:
        """The type of a parameter by its annotation; `Given` if it has none."""
        if arg.annotation is None:
            return t.Given(arg.arg, module.place(arg).named)
        found = self.annotated(module, arg.annotation)
        line = module.place(arg.annotation).named
        text = f"`{arg.arg}` has type {module.code(arg.annotation)} ({line}); give a case, or annotate it"
        return found or t.Unknown(text, declared=True)

    def store_own(self, name: str, value: t.Type, env: t.Env) -> None:
        """`self.name = value` in a constructor."""
        this, made = self.making[-1]
        field = self.classes.fields(this.cls).get(name)
        if field is not None and any(each.arg == "converter" for each in field.keywords):
            value = t.Unknown(f"`{name}` has a `converter`, which is not followed")
        made[name] = t.join([made[name], value]) if name in made else value

    def is_made_now(self, value: t.Type | None) -> bool:
        """True of the object whose constructor is being walked."""
        return bool(self.making) and value is self.making[-1][0]
