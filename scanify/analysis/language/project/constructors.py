"""What constructors of the project make: the types of the fields that they store."""

import ast
from collections.abc import Mapping, Sequence

from scanify.analysis.index.meaning import Definition
from scanify.analysis.index.module import Module
from scanify.analysis.language.base import Base
from scanify.analysis.language.types import (
    Array,
    Env,
    Fields,
    Function,
    Given,
    Object,
    Type,
    Unknown,
    join,
    keywords_of,
)
from scanify.analysis.lower.text import dotted


class Constructors(Base):
    """The part of the walker that runs constructors."""

    def stored_by_constructor(self, cls: Definition, name: str) -> Type | None:
        """What the constructor of a class stores in a field when it is called with anything that it declares."""
        key = ("constructor", cls.node)
        if key not in self.declared_fields:
            self.declared_fields[key] = {}
            method = self.classes.method(cls, "__init__")
            if method is not None and method[1] not in self.active:
                owner, function = method
                plain, named = self.declared_arguments(owner.module, function)
                with self.silent():
                    made = self.run_constructor(owner, function, cls, plain, named)
                self.declared_fields[key] = made
        return self.declared_fields[key].get(name)

    def construct(
        self, env: Env, node: ast.expr, cls: Definition, args: Sequence[Type], keywords: Mapping[str, Type]
    ) -> Type:
        if not self.understood_class(env, node, cls):
            return Unknown(f"the class `{cls.name}` is not understood")
        if not self.muted:
            return Object(cls, Fields.of(self._own_fields(env, node, cls, args, keywords)))
        if cls in self.filling:
            return Object(cls)
        chain = (*self.filling, cls)

        def walk() -> dict[str, Type]:
            before, self.filling = self.filling, chain
            with self.silent():
                made = self._own_fields(env, node, cls, args, keywords)
            self.filling = before
            return made

        return Object(cls, Fields((*enumerate(args), *keywords_of(keywords)), walk))

    filling: tuple[Definition, ...] = ()  # classes whose constructors are walked for their fields

    def _own_fields(
        self, env: Env, node: ast.expr, cls: Definition, args: Sequence[Type], keywords: Mapping[str, Type]
    ) -> dict[str, Type]:
        method = self.classes.method(cls, "__init__")
        if method is not None:
            made = self.run_constructor(method[0], method[1], cls, args, keywords)
            return self.with_hooks(cls, {**self._defaults(cls, made), **made}, ("__check_init__",))
        fields = self.classes.fields(cls)
        if not self._is_dataclass(cls):
            if args or keywords:
                self.note(env.module, node, f"`{cls.name}` has no constructor that is shown")
            return {}
        names = list(fields)
        made = dict(zip(names, args, strict=False)) | {name: each for name, each in keywords.items() if name in fields}
        return self.generated(cls, made)

    def generated(self, cls: Definition, made: dict[str, Type]) -> dict[str, Type]:
        """The fields after the constructor that a dataclass has, which is given some of them."""
        converted = {}
        for name, field in self.classes.fields(cls).items():
            converter = _keyword(field.default, "converter")
            if converter is not None:
                home = Env(field.owner.module)
                converted[name] = self.call(
                    home, converter, self.evaluate(converter, home), [made.get(name, Array())], {}
                )
        made = {**self._defaults(cls, made), **made, **converted}
        return self.with_hooks(cls, made, ("__post_init__", "__check_init__"))

    def with_hooks(self, cls: Definition, made: dict[str, Type], hooks: Sequence[str]) -> dict[str, Type]:
        """The fields after the methods that run behind a constructor.

        Equinox runs the `__check_init__` of each base, too.
        """
        for hook in hooks:
            first = self.classes.method(cls, hook)
            found = [first] if first is not None else []
            if hook == "__check_init__":
                bases = self.classes.lineage(cls)
                found = [
                    (base, self.classes.methods(base)[hook]) for base in bases if hook in self.classes.methods(base)
                ]
            for owner, function in found:
                made = made | self.run_constructor(owner, function, cls, [], {}, made)
        return made

    def _is_dataclass(self, cls: Definition) -> bool:
        if self.classes.is_module(cls):
            return True
        decorators = [dotted(getattr(each, "func", each)) or "" for each in getattr(cls.node, "decorator_list", ())]
        return any(each.rpartition(".")[2] == "dataclass" for each in decorators)

    def _defaults(self, cls: Definition, made: Mapping[str, Type]) -> dict[str, Type]:
        """Fields that a constructor leaves at their defaults; converters are called."""
        found: dict[str, Type] = {}
        for name, field in self.classes.fields(cls).items():
            if name in made:
                continue
            default = field.default
            factory = _keyword(default, "default_factory")
            if factory is not None:
                home = Env(field.owner.module)
                found[name] = self.call(home, factory, self.evaluate(factory, home), [], {})
                continue
            with self.silent():
                if isinstance(default, ast.Call):
                    inner = _keyword(default, "default")
                    if inner is not None:
                        found[name] = self.evaluate(inner, Env(field.owner.module))
                elif default is not None:
                    found[name] = self.evaluate(default, Env(field.owner.module))
        return found

    def run_constructor(
        self,
        owner: Definition,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        cls: Definition,
        args: Sequence[Type],
        keywords: Mapping[str, Type],
        begun: Mapping[str, Type] | None = None,
    ) -> dict[str, Type]:
        """Walk a constructor and return the types of the fields that it stores."""
        made: dict[str, Type] = dict(begun or {})
        self.making.append((cls, made))
        self.call_function(Function(owner.module, function, None, Object(cls, Fields.of({})), owner), args, keywords)
        self.making.pop()
        return made

    def store_own(self, name: str, value: Type, env: Env) -> None:
        """`self.name = value` in a constructor."""
        if self.making:
            cls, made = self.making[-1]
            made[name] = join([made[name], value]) if name in made else value
            field = self.classes.fields(cls).get(name)
            converter = _keyword(field.default, "converter") if field is not None else None
            if converter is not None and field is not None:
                home = Env(field.owner.module)
                made[name] = self.call(home, converter, self.evaluate(converter, home), [value], {})

    def declared_arguments(
        self, module: Module, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> tuple[list[Type], dict[str, Type]]:
        """The types that a constructor's annotations declare for its arguments, positional and named, but `self`."""
        every = [*function.args.posonlyargs, *function.args.args][1:]
        named = {each.arg: self.declared_argument(module, each) for each in function.args.kwonlyargs}
        return [self.declared_argument(module, each) for each in every], named

    def declared_argument(self, module: Module, arg: ast.arg) -> Type:
        """The type of a parameter by its annotation; `Given` if it has none."""
        found = self.annotated(module, arg.annotation)
        if found is not None:
            return found
        if arg.annotation is None:
            return Given(arg.arg, module.place(arg).named)
        line = module.place(arg.annotation).named
        text = f"`{arg.arg}` has type {module.code(arg.annotation)} ({line}); give a case, or annotate it"
        return Unknown(text, declared=True)

    making: list[tuple[Definition, dict[str, Type]]]

    def is_made_now(self, value: Type | None) -> bool:
        """True of the object whose constructor is being walked."""
        return bool(self.making) and value == Object(self.making[-1][0], Fields.of({}))

    declared_fields: dict[object, dict[str, Type]]


def _keyword(default: ast.expr | None, name: str) -> ast.expr | None:
    """The argument of `field(...)` of that name."""
    given = default.keywords if isinstance(default, ast.Call) else []
    return next((each.value for each in given if each.arg == name), None)
