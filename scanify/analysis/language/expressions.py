"""Expressions: the type of each, by its kind of node. A node that is not listed is not understood."""

import ast
import re
from collections.abc import Sequence

from scanify.analysis.index.meaning import Definition, External, Package as IndexPackage
from scanify.analysis.index.module import Module
from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.shapes import LAST_AXIS, weakened
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
from scanify.analysis.values.classes import dotted, library_module

_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.UAdd: "pos", ast.USub: "neg", ast.Invert: "invert",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_INTEGRAL = re.compile(r"\b(bool|bool_|u?int\d*)\W*$")  # dtypes that an operation with floats leaves behind
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Expressions(Base):
    """The part of the walker that evaluates expressions."""

    def evaluate(self, node: ast.expr, env: Env) -> Type:
        match node:
            case ast.Constant(value=None):
                return Nothing()
            case ast.Constant():
                return Static(repr(node.value))
            case ast.Name():
                return self.name(node, env)
            case ast.Attribute():
                return self._attribute(node, env)
            case ast.Subscript():
                return self._subscript(node, env)
            case ast.Call():
                return self._call(node, env)
            case ast.BinOp():
                return self._operation(node, node.op, [node.left, node.right], env)
            case ast.UnaryOp(op=ast.Not()):
                self.truth(env.module, node.operand, self.evaluate(node.operand, env))
                return Static()
            case ast.UnaryOp():
                return self._operation(node, node.op, [node.operand], env)
            case ast.BoolOp():
                values = [self.evaluate(each, env) for each in node.values]
                for part, value in zip(node.values[:-1], values, strict=False):
                    self.truth(env.module, part, value)
                return join(values)
            case ast.Compare():
                return self._comparison(node, env)
            case ast.IfExp():
                self.truth(env.module, node.test, self.evaluate(node.test, env))
                yes, no = self.narrowed(node.test, env)
                return join([self.evaluate(node.body, yes), self.evaluate(node.orelse, no)])
            case ast.Tuple() | ast.List() | ast.Set():
                return self._display(node, env)
            case ast.Dict():
                return self._dict(node, env)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node, env)
            case ast.Lambda():
                return Function(env.module, node, env)
            case ast.NamedExpr():
                value = self.evaluate(node.value, env)
                self.bind(node.target, value, env)
                return value
            case ast.JoinedStr():
                return self._text(node, env)
            case ast.Slice():
                parts = [each for each in (node.lower, node.upper, node.step) if each is not None]
                values = [self.evaluate(each, env) for each in parts]
                for part, value in zip(parts, values, strict=True):
                    if not is_data(value):
                        self.note(env.module, part, why_of(part, value))
                return Static() if all(map(is_static, values)) else Array()
            case _:
                return self.note(env.module, node, f"`{type(node).__name__}` expressions are not listed")

    # -- names -----------------------------------------------------------------------------------------------------

    def name(self, node: ast.Name, env: Env) -> Type:
        """The type of a name: of a local one as it is bound, of one of the module as it is defined."""
        local = env.lookup(node.id)
        if local is not None:
            return self.current(local)
        return self.meaning(env.module, node.id) or Unknown(f"`{node.id}` is bound in several ways, or nowhere")

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
                return Function(definition.module, definition.node)
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
        if isinstance(found, Items):
            known = self.is_kept(definition)
            return Items(found.kind, found.parts, found.each, 0, found.keys) if known else Items(found.kind, None, None)
        return found

    def is_kept(self, definition: Definition) -> bool:
        """True if no code of the project may change the container that a name of a module stands for."""
        name = definition.name
        for module in self.index.modules_with(name):
            parents = {child: node for node in ast.walk(module.tree) for child in ast.iter_child_nodes(node)}
            for node in parents:
                if isinstance(node, ast.alias) and node.name == name and node.asname not in (None, name):
                    return False
                if getattr(node, "id", getattr(node, "attr", None)) == name and not isinstance(
                    getattr(node, "ctx", None), ast.Store
                ):
                    if not _only_read(node, parents):
                        return False
        return True

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
        return self.current(join(self.item(env, node, option, index) for option in options(without_none(value))))

    def item(self, env: Env, node: ast.Subscript, value: Type, index: Type) -> Type:
        """The type of `value[index]`."""
        module = env.module
        if (noted := noted_in([value, index])) is not None:
            return noted
        if not is_data(index) and not isinstance(value, ClassOf):
            return self.note(module, node, why_of(node.slice, index))
        match value:
            case Array():
                return Array(certain=value.certain) if self._harmless(value, "getitem") else self._acting(node, env)
            case Given():
                inner = Given(f"{value.name}[...]", value.line) if not value.name.endswith("[...]") else value
                return inner if self._harmless(value, "getitem") else self._acting(node, env)
            case Static():
                return Static(f"{value.text}[{index.text}]" if isinstance(index, Static) and index.text else None)
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
                method = self.classes.method(value.cls, "__getitem__")
                if method is None and self.is_named_tuple(value.cls):
                    return join(each for _, each in value.fields or ())
                return self.call(env, node, self.attribute(env, node, value, "__getitem__"), [index], {})
            case _:
                return self.note(module, node, why_of(node.value, value))

    def _element_of(self, node: ast.Subscript, value: Items) -> Type:
        if isinstance(node.slice, ast.Slice):
            return Items("list" if value.kind == "list" else value.kind, None, value.element, self.tick())
        match node.slice:
            case ast.Constant(value=int(at)) if value.parts is not None and value.kind != "dict":
                return value.parts[at] if -len(value.parts) <= at < len(value.parts) else Unknown("it has no such element")
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(at))) if value.parts is not None:
                return value.parts[-at] if 0 < at <= len(value.parts) else Unknown("it has no such element")
            case ast.Constant(value=str(key)) if value.keys is not None and value.parts is not None:
                if key in value.keys:
                    return value.parts[value.keys.index(key)]
        return value.element if value.element is not None else Unknown("nothing shows its elements")

    def is_named_tuple(self, cls: Definition) -> bool:
        """True if a class of the project is a `typing.NamedTuple`."""
        bases = [base for owner in self.classes.lineage(cls) for base in self.classes.bases(owner)]
        return any(isinstance(base, External) and base.qualname == "typing.NamedTuple" for base in bases)

    # -- operators -------------------------------------------------------------------------------------------------

    def _operation(self, node: ast.expr, operator: ast.AST, parts: Sequence[ast.expr], env: Env) -> Type:
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
            return Items(kinds[0].kind, None, join(elements) if elements else None, self.tick())
        for part, value in zip(parts, values, strict=True):
            for option in options(value):
                if isinstance(option, Object) and not self.is_enum(option.cls):
                    return self._own_operator(node, name, parts, values, env)
                if isinstance(option, Given | Array) and not self._harmless(option, name):
                    return self._acting(node, env)
                if not is_data(option) and not isinstance(option, Object):
                    return self.note(env.module, node, why_of(part, option))
        if any(isinstance(each, Array) for each in flat):
            found = _arrays(values)
            return weakened(found) if name == "matmul" else found
        if any(isinstance(each, Given) for each in flat):
            given = next(each for each in flat if isinstance(each, Given))
            return Given(f"{given.name} @", given.line) if name == "matmul" else given
        if any(isinstance(each, Items) for each in flat):
            kinds = [each for each in flat if isinstance(each, Items)]
            return Items(kinds[0].kind, None, join(each.element for each in kinds), self.tick())
        return Static()

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

    def _harmless(self, value: Type, operator: str) -> bool:
        """True if no class of the project may do something in an operator on an argument of the loop's function."""
        if isinstance(value, Array) and value.certain:
            return True
        names = (f"__{operator}__", f"__r{operator}__")
        return not any(self.classes.acts(name) or self.classes.is_patched(name) for name in names)

    def _acting(self, node: ast.AST, env: Env) -> Unknown:
        return self.note(env.module, node, "a class of the project has such an operator, which does more than compute")

    def _comparison(self, node: ast.Compare, env: Env) -> Type:
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
                found.append(Array() if isinstance(compared, Array) else compared)
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
        for part, value in zip(own, pair, strict=True):
            if not is_static(value) and not isinstance(value, Items):
                return self.note(env.module, node, why_of(part, value))
        if isinstance(pair[1], Items) and pair[1].kind in ("iterator",):
            return self.note(env.module, node, "a search uses up an iterator")
        if not is_static(pair[0]):
            return self.note(env.module, node, why_of(own[0], pair[0]))
        return Static()

    # -- displays --------------------------------------------------------------------------------------------------

    def _display(self, node: ast.Tuple | ast.List | ast.Set, env: Env) -> Type:
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
            return Items(kind, tuple(parts), None, self.tick())
        return Items(kind, None, join(rest), self.tick())

    def _dict(self, node: ast.Dict, env: Env) -> Type:
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
            return Items("dict", tuple(values), None, self.tick(), tuple(keys))
        return Items("dict", None, join(values), self.tick())

    def _comprehension(self, node: ast.expr, env: Env) -> Type:
        assert isinstance(node, _COMPREHENSIONS)
        inner = Env(env.module, {}, env, env.owner, "")
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
            return Items("dict", None, self.evaluate(node.value, inner), self.tick())
        found = self.evaluate(node.elt, inner)
        kind = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "iterator"}[type(node)]
        if kind == "set" and not is_static(found):
            return self.note(env.module, node, "a set compares its elements")
        return Items(kind, None, found, self.tick())

    def _text(self, node: ast.JoinedStr, env: Env) -> Type:
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                value = self.evaluate(each.value, env)
                if not is_static(value) and not (self.raising and is_data(value)):
                    return self.note(env.module, node, why_of(each.value, value, "its text is not shown"))
                if isinstance(each.format_spec, ast.JoinedStr):
                    self._text(each.format_spec, env)
        return Static()

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

    # -- conditions ------------------------------------------------------------------------------------------------

    def truth(self, module: Module, node: ast.expr, value: Type) -> None:
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
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
                value = env.lookup(name)
                if value is not None:
                    none, other = (yes, no) if isinstance(op, ast.Is) else (no, yes)
                    none.names[name] = Nothing()
                    other.names[name] = without_none(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                no, yes = self.narrowed(operand, env)
        return yes, no

    def is_enum(self, cls: Definition) -> bool:
        """True if a class of the project is an enumeration of Python's own kind."""
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
    casts = [each.cast for each in arrays if each.cast and not _INTEGRAL.search(each.cast)]
    shape = shapes.pop() if len(shapes) == 1 else None
    return Array(shape, casts[0] if casts else None, all(each.certain for each in arrays))


def _is_class(value: Type) -> bool:
    return isinstance(value, ClassOf | Function | LibraryFunction)


def _only_read(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    above = parents[node]
    match above:
        case ast.Subscript(value=value, ctx=ast.Load()):
            return value is node
        case ast.Attribute(attr="get" | "items" | "keys" | "values"):
            return isinstance(parents.get(above), ast.Call)
        case ast.Compare() | ast.For(iter=ast.Name()) | ast.comprehension() | ast.JoinedStr() | ast.FormattedValue():
            return True
        case ast.Call(func=ast.Name(id="len" | "list" | "tuple" | "sorted" | "set" | "enumerate")):
            return True
        case _:
            return False
