"""Evaluate expressions, and the statements that bind names, attributes and results, by name alone.

Functions of one name share their result, and attributes of one name share their value.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from scanify.analysis.classes.classes import Classes
from scanify.analysis.index import Definition, External, Index, Meaning, Module
from scanify.analysis.language.tables import MEASURES
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, own_nodes, parameters, parent_of, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.library import mentioned
from scanify.analysis.watchers.names import imported, local_scope, meanings
from scanify.analysis.watchers.values import (
    CONTAINER,
    KNOWN,
    MODEL,
    NOTHING,
    OBJECT,
    TREE,
    UNKNOWN,
    Arguments,
    Named,
    Store,
    Value,
    atoms_of,
    join,
    part,
    tuple_of,
    value_of,
)

# Packages whose classes never call the arguments of their methods.
_BASES = tuple("equinox. typing. typing_extensions. builtins. abc. enum. jaxtyping. optax. haliax. flax.".split())
_WORD = re.compile(r"[^\W\d]\w*")
_PROPERTIES = {"property", "cached_property"}
_OPENS = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
_EXPRESSIONS = (ast.Call, ast.Lambda, ast.Attribute, ast.JoinedStr, ast.BinOp)
_EVALUATED = (ast.stmt, ast.comprehension, ast.withitem, ast.NamedExpr, ast.Yield, ast.YieldFrom, *_EXPRESSIONS)


class Code(Store):
    """Evaluates the code of a project. `models` are the classes whose objects hold the lists, which `lists` names."""

    def __init__(self, index: Index, models: Collection[Definition], lists: Iterable[str]) -> None:
        super().__init__()
        self.index, self.classes, self.models = index, Classes(index), {each.node for each in models}
        self.definitions: dict[str, list[tuple[Module, ast.AST]]] = {}
        self._fields = {*MEASURES, "weight", "bias"}  # fields of library layers: such an array is the same in a stack
        self._memo: dict[ast.AST, Value] = {}  # of the current run
        self._parts: dict[ast.AST, list[ast.AST]] = {}  # nodes to evaluate, by unit
        for name in lists:
            self.give(MODEL, "attribute", name)

    def look_at(self, module: Module) -> None:
        """Evaluate a module with all of its functions and classes."""
        if module.tree in self.units:
            return
        self.add_unit(module, module.tree)
        for node in nodes_in(module.tree):
            if isinstance(node, _OPENS):
                self.add_unit(module, node)
                self.definitions.setdefault(getattr(node, "name", ""), []).append((module, node))
            if isinstance(node, ast.AnnAssign) and isinstance(parent_of(module, node), ast.ClassDef):
                self._fields.add(getattr(node.target, "id", ""))
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self._fields.add(node.attr)

    def run(self, module: Module, node: ast.AST) -> None:
        self._memo = {}
        if isinstance(node, ast.Lambda):
            self.give(self.value(module, node.body), "result", node)
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            self._parameters(module, node)
        if node not in self._parts:
            self._parts[node] = [each for each in own_nodes(node) if isinstance(each, _EVALUATED)]  # type: ignore[arg-type]
        for each in self._parts[node]:
            self._statement(module, node, each)

    def called(self, module: Module, node: ast.expr, function: ast.expr, passed: Arguments) -> Value:
        """Return the result of a call, or of applying a decorator."""
        raise NotImplementedError

    # -- names and attributes -----------------------------------------------------------------------------------------

    def _global(self, several: Iterable[tuple[Meaning | None, str]]) -> Value:
        """Return the value of a dotted name that may have several meanings."""
        found = NOTHING
        for meaning, rest in several:
            value = value_of(UNKNOWN)
            if isinstance(meaning, External):
                value = value_of(mentioned(meaning.qualname))
            elif isinstance(meaning, Definition):
                self.look_at(meaning.module)
                value = self.read("name", meaning.module.tree, meaning.name)
            for name in rest.split(".") if rest else ():
                value = self.of_attribute(value, name)
            found |= value
        return found

    def _attribute(self, module: Module, node: ast.Attribute) -> Value:
        name = dotted(node) or ""
        root = name.partition(".")[0]
        scope = scope_of(module, node).binding(root) if name else None
        is_global = scope is None or scope.parent is None
        if is_global and (root in module.imports or root in module.definitions or module.bindings.stars):
            stored = self.read("attribute", node.attr)  # `tools.report = digest`
            return self._global(meanings(self.index, module, name)) | join([stored])
        return self.of_attribute(self.value(module, node.value), node.attr)

    def of_attribute(self, base: Value, name: str) -> Value:
        """Return the value of an attribute; fields and methods are found by name alone."""
        atoms = atoms_of(base)
        found = join([self.read("attribute", name)]) | value_of(*({UNKNOWN, KNOWN} & atoms))
        if TREE in atoms and name not in self._fields:
            found |= MODEL
        for module, node in self.definitions.get(name, ()) if atoms != {KNOWN} else ():
            if isinstance(parent_of(module, node), ast.ClassDef) or UNKNOWN in atoms:  # of an object, of a module
                is_field = _decorators(node) & _PROPERTIES
                found |= self.read("result", name) if is_field else value_of(Named(name))
        return found

    def bind(self, module: Module, node: ast.AST, passed: Arguments) -> Value:
        """Pass arguments to a function, and return its result."""
        assert isinstance(node, (*FUNCTIONS, ast.Lambda))
        args, named = node.args, dict(passed.named)
        names = [each.arg for each in (*args.posonlyargs, *args.args)]
        known = {*names, *(each.arg for each in args.kwonlyargs)}
        if isinstance(parent_of(module, node), ast.ClassDef) and "staticmethod" not in _decorators(node):
            names = names[1:]
        pairs = [*zip(names, passed.given, strict=False), *((name, named[name]) for name in known & named.keys())]
        pairs += [(each.arg, join([passed.more])) for each in parameters(node)]
        if args.vararg is not None:
            pairs.append((args.vararg.arg, join(passed.given[len(names) :])))
        if args.kwarg is not None:
            pairs.append((args.kwarg.arg, join(named[name] for name in named.keys() - known)))
        for name, value in pairs:
            self.give(value, "name", node, name)
        return self.read("result", _key(node))

    # -- expressions --------------------------------------------------------------------------------------------------

    def value(self, module: Module, node: ast.expr) -> Value:
        """Return the value of an expression, evaluated at most once per run."""
        if node not in self._memo:
            self._memo[node] = NOTHING
            self._memo[node] = self.evaluated(module, node)
        return self._memo[node]

    def evaluated(self, module: Module, node: ast.expr) -> Value:
        """Evaluate an expression, without the memo."""
        match node:
            case ast.Name(id=name):
                scope = local_scope(module, node, name)
                if scope is not None:
                    return self.read("name", scope.node, name)
                return self._global(meanings(self.index, module, name))
            case ast.Attribute():
                return self._attribute(module, node)
            case ast.Call():
                return self._call(module, node)
            case ast.Subscript(value=value, slice=ast.Constant(value=int(at))) if at >= 0:
                return part(self._element(module, value), at)
            case ast.GeneratorExp(elt=inner):
                return join([self.value(module, inner)])
            case ast.Subscript(value=inner):
                return join([self._element(module, inner)])
            case ast.Tuple(elts=elements) if not any(isinstance(each, ast.Starred) for each in elements):
                return tuple_of(*(self.value(module, each) for each in elements))
            case ast.Lambda():
                return value_of(node)
            case ast.ListComp(elt=inner) | ast.SetComp(elt=inner) | ast.DictComp(value=inner):
                return join([value_of(CONTAINER), self.value(module, inner)])
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.value(module, inner)
            case ast.Constant() | ast.Compare() | ast.JoinedStr():
                return NOTHING
            case _:
                inside = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
                own = value_of(CONTAINER) if isinstance(node, ast.List | ast.Dict | ast.Set) else NOTHING
                return join([own, *(self.value(module, each) for each in inside)])

    def _call(self, module: Module, node: ast.Call) -> Value:
        given = [self.value(module, each) for each in node.args]
        named = {each.arg or "**": self.value(module, each.value) for each in node.keywords}
        starred = next((at for at, each in enumerate(node.args) if isinstance(each, ast.Starred)), len(given))
        more = join([*given[starred:], named.pop("**", NOTHING)])
        return self.called(module, node, node.func, Arguments((*given[:starred],), (*named.items(),), more))

    def _element(self, module: Module, node: ast.expr) -> Value:
        """Return the value of any element of a list, or the elements of a tuple at their places."""
        return frozenset(each for each in self.value(module, node) if each[1] != CONTAINER)

    def _iterated(self, module: Module, node: ast.expr) -> Value:
        """Return the value of any element of an iterable."""
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=args) if not any(isinstance(a, ast.Starred) for a in args):
                return tuple_of(*(self._iterated(module, each) for each in args))
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                return tuple_of(NOTHING, self._iterated(module, inner))
            case _:
                return join([self._element(module, node)])

    # -- statements ---------------------------------------------------------------------------------------------------

    def _statement(self, module: Module, around: ast.AST, node: ast.AST) -> None:
        for targets, source in _bindings(node):
            is_loop = isinstance(node, ast.For | ast.AsyncFor | ast.comprehension)
            self.assign(module, targets, self._iterated(module, source) if is_loop else self.value(module, source))
        match node:
            case ast.AnnAssign(target=target, annotation=annotation):
                self.assign(module, [target], self._annotated(module, annotation))
            case ast.Return(value=ast.expr() as value):
                self.give(self.value(module, value), "result", _key(around))
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                self.give(join([self.value(module, value)]), "result", _key(around))
            case ast.Match(subject=subject, cases=cases):
                for each in nodes_in(*(case.pattern for case in cases)):
                    if name := getattr(each, "rest", None) or getattr(each, "name", None):
                        self._bind_name(module, each, name, join([self.value(module, subject)]))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                defined = value_of(Named(node.name), *([TREE] if node in self.models else []))
                for decorator in reversed(node.decorator_list):
                    defined |= self.called(module, decorator, decorator, Arguments((defined,)))
                self._bind_name(module, node, node.name, defined)
            case ast.Import() | ast.ImportFrom() if not isinstance(around, ast.Module):
                for local, origin in module.imported(node).items():
                    self._bind_name(module, node, local, self._global(imported(self.index, module, origin, "")))
            case ast.expr() if isinstance(node, _EXPRESSIONS):
                self.value(module, node)

    def _parameters(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Bind parameters to their defaults, to objects of their annotated classes, and `self` to the object."""
        args, owner = node.args, parent_of(module, node)
        positional = [*args.posonlyargs, *args.args]
        if isinstance(owner, ast.ClassDef) and positional and "staticmethod" not in _decorators(node):
            own = value_of(Named(owner.name)) if "classmethod" in _decorators(node) else self.object_of(module, owner)
            self.give(own, "name", node, positional[0].arg)
        pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
        pairs += [(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value]
        for arg, default in pairs:
            self.give(self.value(module, default), "name", node, arg.arg)
        for each in (*positional, *args.kwonlyargs):
            if each.annotation is not None:
                self.give(self._annotated(module, each.annotation), "name", node, each.arg)

    def object_of(self, module: Module, owner: ast.ClassDef) -> Value:
        """Return an object of a class of the project; UNKNOWN is added if a base is of an unlisted library."""
        lineage = self.classes.lineage(Definition(module, owner.name, owner))
        bases = [base for each in lineage for base in self.classes.bases(each) if not isinstance(base, Definition)]
        is_open = any(base is None or not base.qualname.startswith(_BASES) for base in bases)
        return value_of(OBJECT, *([TREE] if owner in self.models else []), *([UNKNOWN] if is_open else []))

    def _annotated(self, module: Module, annotation: ast.expr) -> Value:
        """Return an object of the classes that an annotation names, quoted or not."""
        several = (each for word in _WORD.findall(module.code(annotation)) for each in self.definitions.get(word, ()))
        return join(self.object_of(where, cls) for where, cls in several if isinstance(cls, ast.ClassDef))

    def assign(self, module: Module, targets: Iterable[ast.expr], value: Value) -> None:
        """Add a value to the targets of an assignment."""
        for target in targets:
            match target:
                case ast.Name(id=name):
                    self._bind_name(module, target, name, value)
                case ast.Attribute(attr=name):
                    self.give(join([value]), "attribute", name)
                case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                    self.assign(module, [inner], join([value]))  # `kept["best"] = model`, `found().append(model)`
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    several = any(isinstance(each, ast.Starred) for each in parts)
                    for at, each in enumerate(parts):
                        self.assign(module, [each], join([value]) if several else part(value, at))

    def _bind_name(self, module: Module, node: ast.AST, name: str, value: Value) -> None:
        scope = scope_of(module, node).binding(name)
        if scope is not None:
            self.give(value, "name", scope.node, name)
            if scope.is_class:
                self.give(join([value]), "attribute", name)


def _bindings(node: ast.AST) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """Yield the targets that a node binds, with their expression, or with the iterable whose elements they get."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield targets, value
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
            | ast.For(target=target, iter=value)
            | ast.AsyncFor(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
            | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
        ):
            yield [target], value


def _key(function: ast.AST) -> object:
    """Return the key of a function's result: its name, which all functions of the name share; a lambda itself."""
    return getattr(function, "name", function)


def _decorators(node: ast.AST) -> set[str]:
    return {(dotted(each) or "").rpartition(".")[2] for each in getattr(node, "decorator_list", ())}
