"""Operators, comparisons and conditions."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language.base import Base
from scanify.analysis.language.parts import as_array
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
_OF_ENUMS = frozenset({"__str__", "__repr__", "__init__"})
_LONGEST = 200  # elements that are kept one by one


class Operators(Base):
    """The part of the walker that knows operators."""

    def operation_of(self, node: ast.expr, operator: ast.AST, parts: Sequence[ast.expr], env: Env) -> Type:
        values = [without_none(self.evaluate(each, env)) for each in parts]
        return self.operation(node, operator, parts, values, env)

    def operation(
        self, node: ast.AST, operator: ast.AST, parts: Sequence[ast.expr], values: Sequence[Type], env: Env
    ) -> Type:
        """The type of an operator's result."""
        values = list(map(as_array, values))
        if (noted := noted_in(values)) is not None:
            return noted
        name = _OPERATORS[type(operator)]
        flat = [option for value in values for option in options(value)]
        if name == "add" and all(isinstance(each, Items) and each.kind in ("list", "tuple") for each in flat):
            kinds = [each for each in flat if isinstance(each, Items)]
            elements = [each.element for each in kinds if each.element is not None]
            return Items(kinds[0].kind, None, join(elements) if elements else None, self.own)
        if name == "mul" and (repeated := _repeated(values)) is not None:
            return Items("list", repeated, None, self.own)
        for part, value in zip(parts, values, strict=True):
            for option in options(value):
                if isinstance(option, Object) and not self.is_enum(option.cls):
                    return self._own_operator(node, name, parts, values, env)
                if self.asks(env, node, option, f"__{name}__", f"__r{name}__"):
                    return Unknown("an operator of the project")
                if not is_data(option) and not isinstance(option, Object):
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

    def _own_operator(
        self, node: ast.AST, name: str, parts: Sequence[ast.expr], values: Sequence[Type], env: Env
    ) -> Type:
        """An operator of a class of the project: its method is called."""
        for at, value in enumerate(values):
            if not isinstance(value, Object):
                continue
            method = f"__{name}__" if at == 0 else f"__r{name}__"
            if self.classes.method(value.cls, method) is not None and isinstance(node, ast.expr):
                others = [each for other, each in enumerate(values) if other != at]
                return self.call(env, node, self.attribute(env, node, value, method), others, {})
        at = next(at for at, value in enumerate(values) if not is_data(value) or isinstance(value, Object))
        return self.note(env.module, node, why_of(parts[at], values[at]))

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
        if any(isinstance(each, Object) and self.is_enum(each.cls) for each in pair):
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

    def narrowed(self, test: ast.expr, env: Env) -> tuple[Env, Env]:
        """The names where a condition holds and where it does not: `x is None` and `x is not None` of a name."""
        yes, no = env.copy(), env.copy()
        match test:
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]
            ):
                value = env.lookup(name)
                if value is not None:
                    none, other = (yes, no) if isinstance(op, ast.Is) else (no, yes)
                    none.names[name] = Nothing()
                    other.names[name] = without_none(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                no, yes = self.narrowed(operand, env)
        return yes, no

    def is_enum(self, cls: Definition) -> bool:
        """True if a class of the project is an enumeration of Python's own kind, which runs no code of its own."""
        if self.classes.special_methods(cls) - _OF_ENUMS or self.classes.method(cls, "_missing_") is not None:
            return False
        bases = [base for owner in self.classes.lineage(cls) for base in self.classes.bases(owner)]
        return any(isinstance(base, External) and base.qualname.startswith("enum.") for base in bases)


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


def _repeated(values: Sequence[Type]) -> tuple[Type, ...] | None:
    """The elements of `[a, b] * 3`, if both are spelled out; None for another product."""
    match values:
        case [Items(kind="list" | "tuple", parts=tuple() as parts), Static(text=str(text))] if text.isdecimal():
            return parts * int(text) if len(parts) * int(text) <= _LONGEST else None
        case [Static(text=str(text)), Items(kind="list" | "tuple", parts=tuple() as parts)] if text.isdecimal():
            return parts * int(text) if len(parts) * int(text) <= _LONGEST else None
        case _:
            return None


def _is_class(value: Type) -> bool:
    return isinstance(value, ClassOf | Function | LibraryFunction)
