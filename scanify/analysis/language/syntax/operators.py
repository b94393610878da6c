"""Operators, comparisons and conditions."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.index.module import Module
from scanify.analysis.language.base import Base
from scanify.analysis.language.shapes import LAST_AXIS, result_cast, weakened
from scanify.analysis.language.types import (
    Array,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    LibraryFunction,
    LibraryObject,
    Nothing,
    Object,
    Package,
    Static,
    Type,
    Union,
    Unknown,
    is_data,
    is_static,
    join,
    options,
    without_none,
)

_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.UAdd: "pos", ast.USub: "neg", ast.Invert: "invert",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


class Operators(Base):
    """The part of the walker that knows operators."""

    def operation_of(self, node: ast.expr, operator: ast.AST, parts: Sequence[ast.expr], env: Env) -> Type:
        values = [without_none(self.evaluate(each, env)) for each in parts]
        return self.operation(node, operator, parts, values, env)

    def operation(
        self, node: ast.AST, operator: ast.AST, parts: Sequence[ast.expr], values: Sequence[Type], env: Env
    ) -> Type:
        """The type of an operator's result."""
        if (noted := noted_in(values)) is not None:
            return noted
        name = _OPERATORS[type(operator)]
        flat = [option for value in values for option in options(value)]
        if name == "add" and all(isinstance(each, Items) and each.kind in ("list", "tuple") for each in flat):
            kinds = [each for each in flat if isinstance(each, Items)]
            elements = [each.element for each in kinds if each.element is not None]
            return Items(kinds[0].kind, None, join(elements) if elements else None, self.own)
        for part, value in zip(parts, values, strict=True):
            for option in options(value):
                if self.asks(env, node, option, f"__{name}__", f"__r{name}__"):
                    return Unknown("an operator of the project")
                if not is_data(option):
                    return self.note(env.module, node, why_of(part, option))
        if any(isinstance(each, Array) for each in flat):
            found = _arrays(values)
            if name in ("and", "or", "xor", "invert") and {getattr(each, "cast", None) for each in flat} == {"bool"}:
                return replace(found, cast="bool")
            return weakened(found) if name == "matmul" else found
        if any(isinstance(each, Given) for each in flat):
            given = next(each for each in flat if isinstance(each, Given))
            return Given(f"{given.name} @", given.line) if name == "matmul" else given
        if any(isinstance(each, Items) for each in flat):
            kinds = [each for each in flat if isinstance(each, Items)]
            for each in kinds:
                self.in_order(env.module, node, each)  # type: ignore[attr-defined]
            return Items(kinds[0].kind, None, join(each.element for each in kinds), self.own)
        return Static(None, any(isinstance(each, Static) and each.numpy for each in flat))

    def comparison(self, node: ast.Compare, env: Env) -> Type:
        parts = [node.left, *node.comparators]
        values = [self.evaluate(each, env) for each in parts]
        found: list[Type] = []
        if (noted := noted_in(values)) is not None:
            return noted
        for at, operator in enumerate(node.ops):
            pair, own = values[at : at + 2], parts[at : at + 2]
            if isinstance(operator, ast.Is | ast.IsNot):
                found.append(self._identity(node, pair, env))
            elif isinstance(operator, ast.In | ast.NotIn):
                found.append(self._membership(node, own, pair, env))
            elif any(isinstance(each, Nothing) for each in pair) or all(map(_is_class, pair)):
                found.append(Static())
            else:
                compared = self.operation(node, operator, own, [without_none(each) for each in pair], env)
                found.append(Array(cast="bool") if isinstance(compared, Array) else compared)
            if len(node.ops) > 1:
                self.truth(env.module, node, found[-1])
        return join(found)

    def _identity(self, node: ast.Compare, pair: Sequence[Type], env: Env) -> Type:
        plain = (Nothing, Static, ClassOf, Function, LibraryFunction, Package)
        if any(isinstance(each, Nothing) for each in pair) or all(isinstance(each, plain) for each in pair):
            return Static()
        return self.note(env.module, node, "a rewrite makes other objects of the same values")

    def _membership(self, node: ast.Compare, own: Sequence[ast.expr], pair: Sequence[Type], env: Env) -> Type:
        if any(self.asks(env, node, each, "__contains__", "__iter__", "__eq__") for each in pair):
            return Static()
        for part, value in zip(own, pair, strict=True):
            if not is_static(value) and not (isinstance(value, Items) and value.kind == "dict"):
                return self.note(env.module, node, why_of(part, value))
        if isinstance(pair[1], Items) and pair[1].kind in ("iterator",):
            return self.note(env.module, node, "a search uses up an iterator")
        if not is_static(pair[0]):
            return self.note(env.module, node, why_of(own[0], pair[0]))
        return Static()

    def truth(self, module: Module, node: ast.expr, value: Type) -> None:
        self.asks(Env(module), node, value, "__bool__", "__len__")
        for option in options(value):
            match option:
                case Array():
                    self.note(module, node, "a branch needs the value of an array, which a scan does not have")
                case Given():
                    self.note(module, node, why_of(node, option, "a branch needs its value"))
                case Object(cls=cls) if any(self.classes.method(cls, each) for each in ("__bool__", "__len__")):
                    self.note(module, node, f"`{cls.name}` decides whether it is true")
                case Unknown(noted=True):
                    pass
                case Unknown() | LibraryObject():
                    self.note(module, node, why_of(node, option))
                case _:
                    pass


def noted_in(values: Sequence[Type]) -> Unknown | None:
    """The first value that comes from an operation which is an obligation already."""
    flat = (option for value in values for option in options(value))
    return next((each for each in flat if isinstance(each, Unknown) and each.noted), None)


def why_of(node: ast.expr, value: Type, instead: str = "") -> str:
    """Why an operation on a value is not understood."""
    name = f"`{ast.unparse(node)}`" if len(ast.unparse(node)) < 40 else "a part of it"
    match value:
        case Unknown(why=why):
            return why
        case Given(name=given, line=line):
            place = f" ({line})" if line else ""
            return f"`{given}` has no annotation{place}; {instead or 'give a case, or annotate it'}"
        case Array():
            return instead or f"{name} is an array, whose value a scan does not have"
        case Object(cls=cls):
            return f"{name} is a `{cls.name}`"
        case LibraryObject(qualname=qualname):
            return f"{name} is a `{qualname}`"
        case Function():
            return f"{name} is a function"
        case Union(options=found):
            return why_of(node, next((each for each in found if not is_data(each)), found[0]), instead)
        case _:
            return instead or f"nothing is listed for {name}"


def _arrays(values: Sequence[Type]) -> Array:
    """The result of an operator on arrays: the shape of the carry, if one operand has it and none another's."""
    arrays = [option for value in values for option in options(value) if isinstance(option, Array)]
    shapes = {each.shape for each in arrays} - {None}
    shapes = {each for each in shapes if not (each or "").endswith(LAST_AXIS)} or shapes
    numbers = (option for value in values for option in options(value) if isinstance(option, Static))
    cast = result_cast([*arrays, *([Array()] if len(values) > len(arrays) else ())])
    if any((each.text or "").endswith("j") for each in numbers):
        cast = "complex"
    shape = shapes.pop() if len(shapes) == 1 else None
    return Array(shape, cast, all(each.certain for each in arrays))


def _is_class(value: Type) -> bool:
    return isinstance(value, ClassOf | Function | LibraryFunction)
