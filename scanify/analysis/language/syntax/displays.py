"""Tuples, lists, dicts, comprehensions and texts."""

import ast

from scanify.analysis.language.base import Base
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    Env,
    Items,
    Static,
    Type,
    is_data,
    is_static,
    join,
)

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Displays(Base):
    """The part of the walker that makes containers."""

    def display(self, node: ast.Tuple | ast.List | ast.Set, env: Env) -> Type:
        kind = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}[type(node)]
        parts: list[Type] | None = []
        rest: list[Type] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                value = self.evaluate(each.value, env)
                inner = value.parts if isinstance(value, Items) and value.kind != "dict" else None
                if inner is not None and parts is not None:
                    parts += inner
                    continue
                rest += [*(parts or ()), self.element(env.module, each.value, value)]
                parts = None
                continue
            found = self.evaluate(each, env)
            if parts is not None:
                parts.append(found)
            else:
                rest.append(found)
        if isinstance(node, ast.Set) and not all(map(is_static, [*(parts or ()), *rest])):
            return self.note(env.module, node, "a set compares its elements")
        if parts is not None:
            return Items(kind, tuple(parts), None, self.own)
        return Items(kind, None, join(rest), self.own)

    def dict_display(self, node: ast.Dict, env: Env) -> Type:
        keys: list[str] | None = []
        values: list[Type] = []
        for key, value in zip(node.keys, node.values, strict=True):
            found = self.evaluate(value, env)
            if key is None:
                values.append(self.element(env.module, value, found))
                keys = None
                continue
            if not is_static(self.evaluate(key, env)):
                return self.note(env.module, node, "a dict compares its keys")
            values.append(found)
            literal = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
            keys = [*keys, literal] if keys is not None and literal is not None and literal not in keys else None
        if keys is not None:
            return Items("dict", tuple(values), None, self.own, tuple(keys))
        return Items("dict", None, join(values), self.own)

    def comprehension(self, node: ast.expr, env: Env) -> Type:
        assert isinstance(node, _COMPREHENSIONS)
        if any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)):
            return self.note(env.module, node, "`:=` in a comprehension binds a name around it")
        lazy = isinstance(node, ast.GeneratorExp)
        inner = Env(env.module, {}, env, env.owner, "", inline=not lazy, depth=env.depth)
        for number, each in enumerate(node.generators):
            if each.is_async:
                return self.note(env.module, node, "it waits")
            value = self.evaluate(each.iter, env if number == 0 else inner)
            self.bind(each.target, self.element(env.module, each.iter, value), inner)
            for test in each.ifs:
                self.truth(env.module, test, self.evaluate(test, inner))
        if isinstance(node, ast.DictComp):
            if not is_static(self.evaluate(node.key, inner)):
                return self.note(env.module, node, "a dict compares its keys")
            return Items("dict", None, self.evaluate(node.value, inner), self.own)
        found = self.evaluate(node.elt, inner)
        kind = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "iterator"}[type(node)]
        if kind == "set" and not is_static(found):
            return self.note(env.module, node, "a set compares its elements")
        return Items(kind, None, found, self.own)

    def text_of(self, node: ast.JoinedStr, env: Env) -> Type:
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = self.evaluate(each.value, env)
                self.asks(env, node, value, "__format__", "__str__", "__repr__")
                if not is_static(value) and not (self.raising and is_data(value)):
                    return self.note(env.module, node, why_of(each.value, value, "its text is not shown"))
                if isinstance(each.format_spec, ast.JoinedStr):
                    self.text_of(each.format_spec, env)
        return Static()
