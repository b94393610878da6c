"""The types of expressions, by kind of node. Other kinds of nodes are not understood."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.language.base import code_of
from scanify.analysis.language.names import is_shared
from scanify.analysis.language.project.calls import Calls
from scanify.analysis.language.syntax.operators import noted_in, why_of
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.lower.text import dotted


class Expressions(Calls):
    """The part of the walker that evaluates expressions."""

    def evaluate(self, node: ast.expr, env: t.Env) -> t.Type:
        """Return the type of an expression."""
        match node:
            case ast.Constant(value=None):
                return t.Nothing()
            case ast.Constant():
                return t.Static(repr(node.value))
            case ast.Name():
                return self._read(node, env, self.name(node, env))
            case ast.Attribute():
                return self._read(node, env, self._attribute(node, env))
            case ast.Subscript():
                value, index = self.evaluate(node.value, env), self.evaluate(node.slice, env)
                found = t.join(self._item(env, node, option, index) for option in t.options(t.without_none(value)))
                return self._read(node, env, found)
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp():
                return self.operation_of(node, node.op, [node.left, node.right], env)
            case ast.UnaryOp(op=ast.Not()):
                self.truth(env.module, node.operand, self.evaluate(node.operand, env))
                return t.Static()
            case ast.UnaryOp():
                return self.operation_of(node, node.op, [node.operand], env)
            case ast.BoolOp():
                values = [self.evaluate(each, env) for each in node.values]
                for part, value in zip(node.values[:-1], values, strict=False):
                    self.truth(env.module, part, value)
                return t.join(values)
            case ast.Compare():
                return self.comparison(node, env)
            case ast.IfExp():
                self.truth(env.module, node.test, self.evaluate(node.test, env))
                return t.join([self.evaluate(node.body, env), self.evaluate(node.orelse, env)])
            case ast.Tuple() | ast.List():
                return self._display(node, env)
            case ast.Dict():
                return self._dict_display(node, env)
            case ast.ListComp() | ast.GeneratorExp() if not any(each.is_async for each in node.generators):
                return self._comprehension(node, env)
            case ast.Lambda():
                self.define(node.args, env)
                return t.Function(env.module, node, env)
            case ast.JoinedStr():
                return self._text_of(node, env)
            case ast.Slice():
                parts = [each for each in (node.lower, node.upper, node.step) if each is not None]
                values = [self.evaluate(each, env) for each in parts]
                for part, value in zip(parts, values, strict=True):
                    if not t.is_data(value) or isinstance(value, t.Array):
                        self.note(env.module, part, why_of(part, value))
                return t.Static() if all(map(t.is_static, values)) else t.Array()
            case _:
                return self._not_listed(node, env, f"`{type(node).__name__}` expressions are not listed")

    def _not_listed(self, node: ast.expr, env: t.Env, why: str) -> t.Type:
        """Record an expression that is not understood, and forget the types of the names that it may bind."""
        for each in ast.walk(node):
            if isinstance(each, ast.NamedExpr):
                env.names[each.target.id] = t.Unknown(why)
        return self.note(env.module, node, why)

    def define(self, arguments: ast.arguments, env: t.Env, annotations: Sequence[ast.expr | None] = ()) -> None:
        """Evaluate the defaults and annotations of a function definition."""
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.evaluate(default, env)
        every = (each.annotation for each in ast.walk(arguments) if isinstance(each, ast.arg))
        for annotation in (*annotations, *every):
            parts = ast.walk(annotation) if annotation is not None else ()
            if any(isinstance(each, ast.Call | ast.NamedExpr | ast.comprehension) for each in parts):
                self.note(env.module, arguments, "an annotation that does more than name types")

    def _read(self, node: ast.expr, env: t.Env, value: t.Type) -> t.Type:
        """Return the value of a name or a part, and record uses that are not pure.

        Any use of an iterator from before the iteration changes it. A value passed by a caller may be an object of the
        project, and most operations call its special methods.
        """
        if self.muted:
            return value
        if any(isinstance(each, t.Items) and each.kind == "iterator" and not each.own for each in t.options(value)):
            text = f"each layer draws from `{code_of(env.module, node)}`, an iterator: a scan would draw once"
            return self.effect(env.module, node, text)
        if self.classes.special_methods_act and any(map(self.is_passed, t.parts_of(value))):
            why = "it may be of a class of the project whose special methods do more than compute"
            return self.note(env.module, node, why)
        return value

    # -- names -----------------------------------------------------------------------------------------------------

    def name(self, node: ast.Name, env: t.Env) -> t.Type:
        """Return the type of a name, by its local bindings or by its definition in the module."""
        value = env.lookup(node.id)
        if value is not None:
            return self._unchanged(env.holder_of(node.id), node.id, value)
        around = env.scope_around
        binding = (around or scope_of(env.module, node)).binding(node.id)
        if binding is None or (binding.parent is None and binding is not around):
            return self.meaning(env.module, node.id) or t.Unknown(f"`{node.id}` is bound in several ways, or nowhere")
        if around is None:
            return t.Unknown(f"`{node.id}` is bound in a way that is not followed")
        return self._unchanged(t.Env(env.module, scope=binding), node.id, self.by_bindings(binding, node.id))

    def _unchanged(self, holder: t.Env, name: str, value: t.Type) -> t.Type:
        """Return the value of a local name; unknown for a container that other code may hold and change."""
        found = [each for each in t.options(value) if isinstance(each, t.Items) and t.is_changeable(each)]
        scope = holder.function if not all(each.declared for each in found) else None
        known = scope is None or (scope is self.collector and name in self.collected)
        if scope is not None and not known and is_shared(scope, name):
            return t.Unknown(f"other code may change the container `{name}`")
        if isinstance(value, t.Items) and value.parts is not None and value.kind == "tuple":
            return replace(value, parts=tuple(map(t.held, value.parts)))
        return value

    def meaning(self, module: Module, name: str) -> t.Type | None:
        """Return the type of a dotted name at the top level of a module; None if the index cannot resolve it."""
        match self.index.resolve(module, name):
            case Definition() as definition:
                return self.defined(definition)
            case External(qualname):
                return t.LibraryFunction(qualname)
            case _:
                return None

    def defined(self, definition: Definition) -> t.Type | None:
        """Return the type that a module-level statement binds to its name."""
        match definition.node:
            case ast.ClassDef():
                return t.ClassOf(definition)
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                return self.decorated(t.Function(definition.module, node), t.Env(definition.module))
            case (
                ast.Assign(targets=[ast.Name()], value=value)
                | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
            ) if definition.node not in self.active:
                self.active.append(definition.node)
                with self.silent():
                    found = self.evaluate(value, t.Env(definition.module))
                self.active.pop()
                return found if t.is_fixed(found) else t.Items(getattr(found, "kind", "list"))
            case _:
                return None

    # -- attributes and elements -----------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, env: t.Env) -> t.Type:
        name = dotted(node) or ""
        if name in env.names:  # a field that the constructor has stored
            return env.names[name]
        first, around = name.partition(".")[0], env.scope_around
        binding = around.binding(first) if around is not None else None
        if first and env.lookup(first) is None and (binding is None or binding.parent is None):
            found = self.meaning(env.module, name)
            if found is not None:
                return found
        return self.attribute(env, node, self.evaluate(node.value, env), node.attr)

    def _item(self, env: t.Env, node: ast.Subscript, value: t.Type, index: t.Type) -> t.Type:
        """Return the type of `value[index]`."""
        module = env.module
        if (noted := noted_in([value, index])) is not None:
            return noted
        if not t.is_data(index):
            return self.note(module, node, why_of(node.slice, index))
        is_array = isinstance(value, t.Array | t.Given)
        if is_array and any(getattr(each, "cast", None) == "bool" for each in t.parts_of(index)):
            return self.note(module, node, "the shape of its result depends on values")
        match value:
            case t.Array():
                longer = any(isinstance(each, ast.Constant) and each.value is None for each in ast.walk(node.slice))
                return replace(value, shape=f"{value.shape} longer" if longer and value.shape else None)
            case t.Given(name=name):
                return value if name.endswith("]") else t.Given(f"{name}[{ast.unparse(node.slice)}]", value.line)
            case t.Static(text=text):
                return t.Static(text if (text or "").startswith(t.GIVEN) else None)
            case t.Items(kind=kind, element=element) if isinstance(node.slice, ast.Slice):
                return t.Items(kind, None, element, self.own)
            case t.Items(kind=kind) if kind != "dict" and not t.is_static(index):
                return self.note(module, node, why_of(node.slice, index))
            case t.Items(element=element):
                return element or t.Unknown("nothing shows its elements")
            case t.LibraryObject(qualname="jax.at"):
                return value
            case _:
                return self.note(module, node, why_of(node.value, value))

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: t.Env) -> t.Type:
        if isinstance(node.func, ast.Attribute):
            self.called.add(id(node.func))
        callee = self.evaluate(node.func, env)
        args: list[t.Type] = []
        for each in node.args:
            inner = each.value if isinstance(each, ast.Starred) else each
            value = self.evaluate(inner, env)
            if isinstance(each, ast.Starred):
                if not isinstance(callee, t.LibraryFunction) or not t.is_data(value):
                    return self.note(env.module, node, f"`*{code_of(env.module, inner)}` spells out no arguments")
                value = self.element(env.module, inner, value)
            args.append(value)
        keywords: dict[str, t.Type] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                return self.note(env.module, node, f"`**{code_of(env.module, keyword.value)}` spells out no arguments")
            keywords[keyword.arg] = self.evaluate(keyword.value, env)
        return self.call(env, node, callee, args, keywords)

    # -- displays --------------------------------------------------------------------------------------------------

    def _display(self, node: ast.Tuple | ast.List, env: t.Env) -> t.Type:
        kind = "tuple" if isinstance(node, ast.Tuple) else "list"
        parts: list[t.Type] = []
        for each in node.elts:
            inner = each.value if isinstance(each, ast.Starred) else each
            found = self.evaluate(inner, env)
            found = self.element(env.module, inner, found) if isinstance(each, ast.Starred) else found
            parts.append(found if kind == "tuple" else t.held(found))
        if any(isinstance(each, ast.Starred) for each in node.elts):
            return t.Items(kind, None, t.join(parts), self.own)
        return t.Items(kind, tuple(parts), None, self.own)

    def _dict_display(self, node: ast.Dict, env: t.Env) -> t.Type:
        values = [t.held(self.evaluate(each, env)) for each in node.values]
        if not all(key is not None and t.is_static(self.evaluate(key, env)) for key in node.keys):
            return self.note(env.module, node, "a dict compares its keys")
        return t.Items("dict", None, t.join(values) if values else None, self.own)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, env: t.Env) -> t.Type:
        kind = "list" if isinstance(node, ast.ListComp) else "iterator"
        inner = t.Env(env.module, {}, env, inline=kind == "list")
        for number, each in enumerate(node.generators):
            value = self.evaluate(each.iter, env if number == 0 else inner)
            self.bind(each.target, self.element(env.module, each.iter, value), inner)
            for test in each.ifs:
                self.truth(env.module, test, self.evaluate(test, inner))
        return t.Items(kind, None, t.held(self.evaluate(node.elt, inner)), self.own)

    def _text_of(self, node: ast.JoinedStr, env: t.Env) -> t.Type:
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = self.evaluate(each.value, env)
                self.text_acts(env, node, value)
                if not t.is_static(value):
                    return self.note(env.module, node, why_of(each.value, value, "its text is not shown"))
                if isinstance(each.format_spec, ast.JoinedStr):
                    self._text_of(each.format_spec, env)
        return t.Static()
