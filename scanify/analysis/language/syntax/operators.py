"""Operators, comparisons and conditions."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.language.shapes import LAST_AXIS, result_cast, weakened
from scanify.analysis.language.syntax.annotations import Annotations

_OF_BOOLS = ast.BitAnd | ast.BitOr | ast.BitXor | ast.Invert
_CLASSES = t.ClassOf | t.Function | t.LibraryFunction
_SINGLE = t.Nothing | t.Static | _CLASSES  # values whose identity a rewrite keeps


class Operators(Annotations):
    """The part of the walker that handles operators."""

    def operation_of(self, node: ast.expr, operator: ast.AST, parts: Sequence[ast.expr], env: t.Env) -> t.Type:
        """Return the type of an operator's result, given its operands as expressions."""
        values = [t.without_none(self.evaluate(each, env)) for each in parts]
        return self.operation(node, operator, parts, values, env)

    def operation(
        self, node: ast.AST, operator: ast.AST, parts: Sequence[ast.expr], values: Sequence[t.Type], env: t.Env
    ) -> t.Type:
        """Return the type of an operator's result, given the types of its operands."""
        if (noted := noted_in(values)) is not None:
            return noted
        flat = [option for value in values for option in t.options(value)]
        held = [each for each in flat if isinstance(each, t.Items)]
        for part, value in zip(parts, values, strict=True):
            if isinstance(operator, ast.Mod) and (acts := self.text_acts(env, node, value)):
                return acts
            if not t.is_data(value):
                return self.note(env.module, node, why_of(part, value))
        if any(isinstance(each, t.Array) for each in flat):
            found = _arrays(values)
            if isinstance(operator, _OF_BOOLS) and {getattr(each, "cast", None) for each in flat} == {"bool"}:
                return replace(found, cast="bool")
            return weakened(found) if isinstance(operator, ast.MatMult) else found
        given = next((each for each in flat if isinstance(each, t.Given)), None)
        if given is not None:
            return given
        if any(each.kind == "dict" for each in held):
            return self.note(env.module, node, "an operator on a dict")
        if held:
            return t.Items(held[0].kind, None, t.join(each.element for each in held), self.own)
        return t.Static()

    def comparison(self, node: ast.Compare, env: t.Env) -> t.Type:
        """Return the type of a comparison."""
        parts = [node.left, *node.comparators]
        values = [self.evaluate(each, env) for each in parts]
        if (noted := noted_in(values)) is not None:
            return noted
        found: list[t.Type] = []
        for at, operator in enumerate(node.ops):
            pair, own = values[at : at + 2], parts[at : at + 2]
            is_none = any(isinstance(each, t.Nothing) for each in pair)
            if isinstance(operator, ast.Is | ast.IsNot):
                same = is_none or all(isinstance(each, _SINGLE) for each in pair)
                why = "a rewrite makes other objects of the same values"
                found.append(t.Static() if same else self.note(env.module, node, why))
            elif isinstance(operator, ast.In | ast.NotIn):
                found.append(t.Static())
                for part, value in zip(own, pair, strict=True):
                    if not t.is_static(value):
                        found.append(self.note(env.module, node, why_of(part, value)))
            elif is_none or all(isinstance(each, _CLASSES) for each in pair):
                found.append(t.Static())
            else:
                compared = self.operation(node, operator, own, [t.without_none(each) for each in pair], env)
                found.append(t.Array(cast="bool") if isinstance(compared, t.Array) else compared)
            if len(node.ops) > 1:
                self.truth(env.module, node, found[-1])
        return t.join(found)

    def truth(self, module: Module, node: ast.expr, value: t.Type) -> None:
        """Record that a branch depends on a value, unless Python knows the value while jax traces."""
        for option in t.options(value):
            match option:
                case t.Array():
                    self.note(module, node, "a branch needs the value of an array, which a scan does not have")
                case t.Object(cls=cls) if any(self.classes.method(cls, each) for each in ("__bool__", "__len__")):
                    self.note(module, node, f"`{cls.name}` decides whether it is true")
                case t.Unknown(noted=noted):
                    if not noted:
                        self.note(module, node, why_of(node, option))
                case t.Given() | t.LibraryObject():
                    self.note(module, node, why_of(node, option, "a branch needs its value"))
                case _:
                    pass


def noted_in(values: Sequence[t.Type]) -> t.Unknown | None:
    """Return the first value that results from an operation already recorded as an obligation."""
    flat = (option for value in values for option in t.options(value))
    return next((each for each in flat if isinstance(each, t.Unknown) and each.noted), None)


def why_of(node: ast.expr, value: t.Type, instead: str = "") -> str:
    """Return why an operation on a value is not understood."""
    name = f"`{ast.unparse(node)}`" if len(ast.unparse(node)) < 40 else "a part of it"
    match value:
        case t.Unknown(why=why):
            return why
        case t.Given(name=given, line=line):
            place = f" ({line})" if line else ""
            return f"`{given}` has no annotation{place}; {instead or 'give a case, or annotate it'}"
        case t.Array():
            return instead or f"{name} is an array, whose value a scan does not have"
        case t.Object(cls=cls):
            return f"{name} is a `{cls.name}`"
        case t.Union(options=found):
            return why_of(node, next((each for each in found if not t.is_data(each)), found[0]), instead)
        case _:
            return instead or f"nothing is listed for {name}"


def _arrays(values: Sequence[t.Type]) -> t.Array:
    """Return the result of an operator on arrays; it has the shape of a carry if the known shapes of operands agree."""
    flat = [option for value in values for option in t.options(value)]
    arrays = [each for each in flat if isinstance(each, t.Array)]
    shapes = {each.shape for each in arrays if each.shape is not None}
    shapes = {each for each in shapes if not each.endswith(LAST_AXIS)} or shapes
    cast = result_cast([*arrays, *([t.Array()] if len(values) > len(arrays) else ())])
    if any(isinstance(each, t.Static) and (each.text or "").endswith("j") for each in flat):
        cast = "complex"
    shape = shapes.pop() if len(shapes) == 1 else None
    return t.Array(shape, cast, all(each.certain for each in arrays))
