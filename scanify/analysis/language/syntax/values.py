"""Expressions: the type of each, by its kind of node. A node that is not listed is not understood."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.classes.classes import library_module
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.meaning import Package as IndexPackage
from scanify.analysis.index.module import Module
from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.names import names_of
from scanify.analysis.language.shapes import is_cut, resized
from scanify.analysis.language.syntax.operators import noted_in, why_of
from scanify.analysis.language.types import (
    GIVEN,
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
    Unknown,
    held,
    is_changeable,
    is_data,
    is_fixed,
    is_static,
    join,
    options,
    parts_of,
    without_none,
)
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import scope_of
from scanify.analysis.lower.text import dotted

_OF_TYPES = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Load,
    ast.Starred,
)  # fmt: skip

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_LOOSE = frozenset("globals vars locals exec eval __dict__".split())  # by which names are bound unseen
_READING = ("jax.numpy.", "jax.random.", "numpy.", "equinox.nn.", "flax.nnx.")


class Expressions(Base):
    """The part of the walker that evaluates expressions."""

    def evaluate(self, node: ast.expr, env: Env) -> Type:
        match node:
            case ast.Constant(value=None):
                return Nothing()
            case ast.Constant():
                return Static(repr(node.value))
            case ast.Name():
                return self._unspent(node, env, self.name(node, env))
            case ast.Attribute():
                return self._unspent(node, env, self._attribute(node, env))
            case ast.Subscript():
                return self._unspent(node, env, self._subscript(node, env))
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp():
                return self.operation_of(node, node.op, [node.left, node.right], env)
            case ast.UnaryOp(op=ast.Not()):
                self.truth(env.module, node.operand, self.evaluate(node.operand, env))
                return Static()
            case ast.UnaryOp():
                return self.operation_of(node, node.op, [node.operand], env)
            case ast.BoolOp():
                values = [self.evaluate(each, env) for each in node.values]
                for part, value in zip(node.values[:-1], values, strict=False):
                    self.truth(env.module, part, value)
                return join(values)
            case ast.Compare():
                return self.comparison(node, env)
            case ast.IfExp():
                self.truth(env.module, node.test, self.evaluate(node.test, env))
                return join([self.evaluate(node.body, env), self.evaluate(node.orelse, env)])
            case ast.Tuple() | ast.List() | ast.Set():
                return self.display(node, env)
            case ast.Dict():
                return self.dict_display(node, env)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self.comprehension(node, env)
            case ast.Lambda():
                self.define(node.args, env)
                return Function(env.module, node, env)
            case ast.NamedExpr():
                value = self.evaluate(node.value, env)
                self.bind(node.target, value, env)
                return value
            case ast.JoinedStr():
                return self.text_of(node, env)
            case ast.Slice():
                parts = [each for each in (node.lower, node.upper, node.step) if each is not None]
                values = [self.evaluate(each, env) for each in parts]
                for part, value in zip(parts, values, strict=True):
                    if not is_data(value) or isinstance(value, Array):
                        self.note(env.module, part, why_of(part, value))
                return Static() if all(map(is_static, values)) else Array()
            case _:
                return self.note(env.module, node, f"`{type(node).__name__}` expressions are not listed")

    def define(self, arguments: ast.arguments, env: Env, annotations: Sequence[ast.expr | None] = ()) -> None:
        """What Python evaluates where a function is defined: defaults and annotations."""
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.evaluate(default, env)
        every = (each for each in ast.walk(arguments) if isinstance(each, ast.arg))
        for annotation in (*annotations, *(each.annotation for each in every)):
            if annotation is not None and not all(isinstance(each, _OF_TYPES) for each in ast.walk(annotation)):
                self.note(env.module, annotation, "an annotation that does more than name types")

    def _unspent(self, node: ast.expr, env: Env, value: Type) -> Type:
        """The value of a name or a part, unless it is an iterator from before the iteration, which one use changes."""
        old = [isinstance(each, Items) and each.kind == "iterator" and not each.own for each in options(value)]
        if self.muted or not any(old):
            return value
        if all(old):
            text = f"each layer draws from `{code_of(env.module, node)}`, an iterator: a scan would draw once"
            return self.effect(env.module, node, text)
        return self.note(env.module, node, "an iterator that was made before is used up")

    # -- names -----------------------------------------------------------------------------------------------------

    def name(self, node: ast.Name, env: Env) -> Type:
        """The type of a name: of a local one as it is bound, of one of the module as it is defined."""
        local = env.lookup(node.id)
        if local is not None:
            return self._unchanged(env, node.id, local)
        binding = scope_of(env.module, node).binding(node.id)
        if binding is not None and binding.parent is not None:
            return Unknown(f"`{node.id}` is bound in a way that is not followed")
        return self.meaning(env.module, node.id) or Unknown(f"`{node.id}` is bound in several ways, or nowhere")

    def _unchanged(self, env: Env, name: str, value: Type) -> Type:
        """The value of a local name; a container that other code may hold, and change, has no known elements."""
        found = [each for each in options(value) if isinstance(each, Items) and is_changeable(each)]
        if name not in self.collected and not all(each.declared for each in found):
            facts = env.holder_of(name).facts
            called = (dotted(function) for each, function in facts.passed if each == name)
            if name in facts.open or not all(each and self._only_reads(env.module, each) for each in called):
                return Unknown(f"other code may change the container `{name}`")
        if isinstance(value, Items) and value.parts is not None and value.kind == "tuple":
            return replace(value, parts=tuple(map(held, value.parts)))
        return value

    def _only_reads(self, module: Module, name: str) -> bool:
        """True of functions and modules of libraries that keep no container and call no function with it."""
        meaning = self.index.resolve(module, name)
        return isinstance(meaning, External) and meaning.qualname.startswith(_READING)

    def meaning(self, module: Module, name: str) -> Type | None:
        """The type of a dotted name at the top level of a module; None if it stands for nothing that is shown."""
        match self.index.resolve(module, name):
            case Definition() as definition:
                return self.defined(definition)
            case External(qualname):
                return ClassOf(qualname) if library_module(qualname) else LibraryFunction(qualname)
            case IndexPackage(name=found):
                return Package(found)
            case _:
                return None

    def defined(self, definition: Definition) -> Type | None:
        """The type of what a statement of module level binds."""
        match definition.node:
            case ast.ClassDef():
                return ClassOf(definition)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                function = Function(definition.module, definition.node)
                return self.decorated(function, Env(definition.module))
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return self._constant(definition, value)
            case _:
                return None

    def _constant(self, definition: Definition, value: ast.expr) -> Type | None:
        targets = getattr(definition.node, "targets", None) or [getattr(definition.node, "target", None)]
        if any(not isinstance(each, ast.Name) for each in targets) or definition.node in self.active:
            return None
        self.active.append(definition.node)
        with self.silent():
            found = self.evaluate(value, Env(definition.module))
        self.active.pop()
        return found if is_fixed(found) or self._is_only_read(definition) else Items(getattr(found, "kind", "list"))

    def _is_only_read(self, definition: Definition) -> bool:
        """True of a table of a module: all places of its name, which no other file has, only read its elements."""
        module, name = definition.module, definition.name
        facts = names_of(module.tree)
        if name in facts.open | facts.changed or any(name == each for each, _ in facts.passed):
            return False
        if any(path != module.path for path in self.index.paths_with(name)) or self.index.words(module.path) & _LOOSE:
            return False
        return not any(
            name in (getattr(each, "attr", None), getattr(each, "value", None)) for each in nodes_in(module.tree)
        )

    # -- attributes and elements -----------------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute, env: Env) -> Type:
        name = dotted(node)
        if name is not None and env.lookup(name.partition(".")[0]) is None:
            found = self.meaning(env.module, name)
            if found is not None:
                return found
        return self.attribute(env, node, self.evaluate(node.value, env), node.attr)

    def _subscript(self, node: ast.Subscript, env: Env) -> Type:
        value = self.evaluate(node.value, env)
        index = self.evaluate(node.slice, env)
        return join(self.item(env, node, option, index) for option in options(without_none(value)))

    def item(self, env: Env, node: ast.Subscript, value: Type, index: Type) -> Type:
        """The type of `value[index]`."""
        module = env.module
        if (noted := noted_in([value, index])) is not None:
            return noted
        if not is_data(index) and not isinstance(value, ClassOf):
            return self.note(module, node, why_of(node.slice, index))
        if self.asks(env, node, value, "__getitem__"):
            return Unknown("an element that a class of the project computes")
        if isinstance(value, Array | Given) and any(getattr(each, "cast", None) == "bool" for each in parts_of(index)):
            return self.note(module, node, "the shape of its result depends on values")
        match value:
            case Array():
                wider = value.shape is not None and _has_new_axis(node.slice)
                if is_cut(node):
                    return resized(value)
                return Array(f"{value.shape} with another axis" if wider else None, value.cast, value.certain)
            case Given():
                part = ast.unparse(node.slice) if isinstance(node.slice, ast.Slice) else "..."
                return Given(f"{value.name}[{part}]", value.line) if not value.name.endswith("]") else value
            case Static(text=text):
                at = index.text if isinstance(index, Static) else None
                return Static(f"{text}[{at}]" if text and (at or text.startswith(GIVEN)) else None)
            case Items(kind="iterator"):
                return self.note(module, node, "an iterator has no elements by number")
            case Items():
                return self._element_of(node, value)
            case ClassOf():
                return value
            case LibraryObject(qualname="jax.at"):
                return value
            case LibraryFunction(qualname=qualname) if qualname.rpartition(".")[2] in ("s_", "index_exp", "r_", "c_"):
                return Static() if is_static(index) else Array()
            case Object():
                return self.call(env, node, self.attribute(env, node, value, "__getitem__"), [index], {})
            case _:
                return self.note(module, node, why_of(node.value, value))

    def _element_of(self, node: ast.Subscript, value: Items) -> Type:
        if isinstance(node.slice, ast.Slice):
            return Items("list" if value.kind == "list" else value.kind, None, value.element, self.own)
        match node.slice:
            case ast.Constant(value=int(at)) if value.parts is not None and value.kind != "dict":
                return (
                    value.parts[at] if -len(value.parts) <= at < len(value.parts) else Unknown("it has no such element")
                )
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(at))) if value.parts is not None:
                return value.parts[-at] if 0 < at <= len(value.parts) else Unknown("it has no such element")
            case ast.Constant(value=str(key)) if value.keys is not None and value.parts is not None:
                if key in value.keys:
                    return value.parts[value.keys.index(key)]
        return value.element if value.element is not None else Unknown("nothing shows its elements")

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, env: Env) -> Type:
        if isinstance(node.func, ast.Attribute):
            self.called.add(id(node.func))
        callee = self.evaluate(node.func, env)
        args: list[Type] = []
        for each in node.args:
            if not isinstance(each, ast.Starred):
                args.append(self.evaluate(each, env))
                continue
            value = self.evaluate(each.value, env)
            if isinstance(value, Items) and value.parts is not None and value.kind != "dict":
                args += value.parts
            elif isinstance(callee, LibraryFunction) and is_data(value):
                args.append(self.element(env.module, each.value, value))
            else:
                return self.note(env.module, node, f"`*{code_of(env.module, each.value)}` spells out no arguments")
        keywords: dict[str, Type] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, env)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Items) and value.keys is not None and value.parts is not None:
                keywords |= dict(zip(value.keys, value.parts, strict=True))
            else:
                return self.note(env.module, node, f"`**{code_of(env.module, keyword.value)}` spells out no arguments")
        return self.call(env, node, callee, args, keywords)

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
            found = found if kind == "tuple" else held(found)
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
            found = held(self.evaluate(value, env))
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
        inner = Env(env.module, {}, env, env.owner, "", inline=not lazy)
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
            return Items("dict", None, held(self.evaluate(node.value, inner)), self.own)
        found = held(self.evaluate(node.elt, inner))
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


def _has_new_axis(index: ast.expr) -> bool:
    """True for `[:, None]` and `[jnp.newaxis]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    none = any(isinstance(each, ast.Constant) and each.value is None for each in parts)
    return none or any((dotted(each) or "").endswith("newaxis") for each in parts)
