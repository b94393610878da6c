"""Evaluate expressions, and the statements that give values to names, attributes and results."""

import ast
from collections.abc import Iterable

from scanify.analysis.index import Definition, Module
from scanify.analysis.index.bindings import Import
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, inner_scope, own_nodes, scope_of
from scanify.analysis.lower.text import dotted, unquoted
from scanify.analysis.watchers.follow.state import State
from scanify.analysis.watchers.follow.values import (
    NOTHING,
    TREE,
    Class,
    Function,
    Held,
    Object,
    held,
    join,
    tuple_of,
)
from scanify.analysis.watchers.names import imported, imported_in_place, meanings
from scanify.analysis.watchers.stacks import class_named

_DEFINES = (*FUNCTIONS, ast.Lambda)
_WITHOUT_VALUE = ast.Constant | ast.Compare | ast.JoinedStr
_EXPRESSIONS = (ast.Call, ast.Lambda, ast.Attribute, ast.FormattedValue, ast.BinOp)
_EVALUATED = (ast.stmt, ast.comprehension, ast.withitem, ast.NamedExpr, ast.Yield, ast.YieldFrom, *_EXPRESSIONS)


class Code(State):
    """Evaluates code of the project, each expression once in a run."""

    def __init__(self, *args: object) -> None:
        self._memo: dict[int, Held] = {}
        self._parts: dict[int, list[ast.AST]] = {}  # of each unit
        super().__init__(*args)  # type: ignore[arg-type]

    def run(self, module: Module, node: ast.AST) -> None:
        self._memo = {}
        if isinstance(node, ast.Lambda):
            self.give(("result", id(node)), self.value(module, node.body))
        if isinstance(node, _DEFINES):
            self._parameters(module, node)
        if id(node) not in self._parts:
            self._parts[id(node)] = [each for each in own_nodes(node) if isinstance(each, _EVALUATED)]  # type: ignore[arg-type]
        for each in self._parts[id(node)]:
            self._statement(module, node, each)

    def called(self, module: Module, node: ast.Call) -> Held:
        """Return the result of a call."""
        raise NotImplementedError

    def decorated(self, module: Module, decorator: ast.expr, value: Held) -> Held:
        """Return a function under a decorator."""
        raise NotImplementedError

    def matched(self, module: Module, node: ast.Match, value: Held) -> None:
        """See the subject of a `match`."""
        raise NotImplementedError

    # -- expressions -----------------------------------------------------------------------------------------------

    def value(self, module: Module, node: ast.expr) -> Held:
        """Return the value of an expression."""
        if id(node) not in self._memo:
            self._memo[id(node)] = NOTHING
            self._memo[id(node)] = self.evaluated(module, node)
        return self._memo[id(node)]

    def evaluated(self, module: Module, node: ast.expr) -> Held:
        """Return the value of an expression that was not evaluated before in a run."""
        match node:
            case ast.Name():
                return self.of_name(module, node)
            case ast.Attribute():
                return self._attribute(module, node)
            case ast.Call():
                return self.called(module, node)
            case ast.Subscript(value=value, slice=ast.Constant(value=int(at))):
                return self.value(module, value).part(at)
            case ast.Subscript(value=value, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(at)))):
                return self.value(module, value).part(-at)
            case ast.Tuple(elts=elements) if not any(isinstance(each, ast.Starred) for each in elements):
                return tuple_of(*(self.value(module, each) for each in elements))
            case ast.IfExp(body=body, orelse=other):
                return self.value(module, body) | self.value(module, other)
            case ast.Lambda():
                self.look_at(module, node)
                return held(Function(module, node))
            case ast.ListComp(elt=inner) | ast.SetComp(elt=inner) | ast.GeneratorExp(elt=inner):
                return self.value(module, inner).whole
            case ast.DictComp(value=inner) | ast.Subscript(value=inner):
                return self.value(module, inner).whole
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.value(module, inner)
            case _ if isinstance(node, _WITHOUT_VALUE):
                return NOTHING
            case _:
                inside = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
                return join(self.value(module, each).whole for each in inside)

    def _attribute(self, module: Module, node: ast.Attribute) -> Held:
        if (path := imported_in_place(node)) is not None:
            return self.of_meanings(imported(self.index, module, Import(path, False, False), ""))
        name = dotted(node)
        root = (name or "").partition(".")[0]
        scope = scope_of(module, node).binding(root) if name is not None else None
        is_global = scope is None or scope.parent is None
        if name and is_global and (root in module.imports or root in module.definitions or module.bindings.stars):
            return self.of_meanings(meanings(self.index, module, name))
        return self.of_attribute(self.value(module, node.value), node.attr)

    def elements(self, module: Module, node: ast.expr) -> Held:
        """Return the value of any element of an iterable."""
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=args) if not any(isinstance(a, ast.Starred) for a in args):
                return tuple_of(*(self.elements(module, each) for each in args))
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                return tuple_of(NOTHING, self.elements(module, inner))
            case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
                return tuple_of(NOTHING, self.value(module, inner).whole)
            case _:
                value = self.value(module, node)
                return join(value.parts) if value.parts else value

    # -- statements ------------------------------------------------------------------------------------------------

    def _statement(self, module: Module, around: ast.AST, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self.assign(module, targets, self.value(module, value))
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                self.assign(module, [target], self.value(module, value))
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                declared = self.annotated(module, annotation)
                self.assign(module, [target], declared | (self.value(module, value) if value else NOTHING))
            case ast.For(target=target, iter=source) | ast.AsyncFor(target=target, iter=source):
                self.assign(module, [target], self.elements(module, source))
            case ast.comprehension(target=target, iter=source):
                self.assign(module, [target], self.elements(module, source))
            case ast.withitem(context_expr=made, optional_vars=ast.expr() as target):
                self.assign(module, [target], self.value(module, made))
            case ast.Return(value=ast.expr() as value):
                self.give(("result", id(around)), self.value(module, value))
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                self.give(("result", id(around)), self.value(module, value).whole)
            case ast.Match(subject=subject, cases=cases):
                whole = self.value(module, subject).whole
                self.matched(module, node, whole)
                for each in nodes_in(*(case.pattern for case in cases)):
                    for name in (getattr(each, "name", None), getattr(each, "rest", None)):
                        if isinstance(name, str):
                            self.give(("name", id(inner_scope(module, around).node), name), whole)  # type: ignore[arg-type]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.look_at(module, node)
                function = self.of_function(module, node)
                for decorator in reversed(node.decorator_list):
                    function = self.decorated(module, decorator, function)
                    self.give(("decorated", id(node)), function)
                self._bind_name(module, node, node.name, function)
            case ast.Import() | ast.ImportFrom() if not isinstance(around, ast.Module):
                for local, origin in module.imported(node).items():
                    self._bind_name(module, node, local, self.of_meanings(imported(self.index, module, origin, "")))
            case ast.ClassDef():
                self.look_at(module, node)
                self._bind_name(module, node, node.name, self.of_definition(Definition(module, node.name, node)))
            case ast.expr() if isinstance(node, _EXPRESSIONS):
                self.value(module, node)

    def _parameters(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Give parameters their defaults, objects of their annotations, and `self` to methods."""
        args, scope = node.args, inner_scope(module, node)
        positional = [*args.posonlyargs, *args.args]
        owner = scope.parent.node if scope.parent is not None else None
        if isinstance(owner, ast.ClassDef) and positional and not isinstance(node, ast.Lambda):
            names = {(dotted(each) or "").rpartition(".")[2] for each in node.decorator_list}
            found = Definition(module, owner.name, owner)
            own = Class(found) if "classmethod" in names else Object(found)
            if "staticmethod" not in names:
                value = held(own, *([TREE] if found in self.models else []))
                self.give(("name", id(node), positional[0].arg), value)
        pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
        pairs += [(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value]
        for arg, default in pairs:
            self.give(("name", id(node), arg.arg), self.value(module, default))
        for each in (*positional, *args.kwonlyargs):
            if each.annotation is not None:
                self.give(("name", id(node), each.arg), self.annotated(module, each.annotation))

    def annotated(self, module: Module, annotation: ast.expr) -> Held:
        """Return an object of the classes of the project that an annotation names."""
        plain = unquoted(annotation)
        if isinstance(plain, ast.BinOp | ast.Subscript | ast.Tuple):
            inside = (each for each in ast.iter_child_nodes(plain) if isinstance(each, ast.expr))
            return join(self.annotated(module, each) for each in inside)
        found = class_named(self.index, module, plain) if plain is not None else None
        return held(Object(found), *([TREE] if found in self.models else [])) if found is not None else NOTHING

    def assign(self, module: Module, targets: Iterable[ast.expr], value: Held) -> None:
        """Add to the values of targets of an assignment."""
        for target in targets:
            match target:
                case ast.Name(id=name):
                    self._bind_name(module, target, name, value)
                case ast.Attribute(attr=name):
                    self.give(("attribute", name), value.whole)
                case ast.Subscript(value=inner):
                    self.into(module, inner, value)
                case ast.Starred(value=inner):
                    self.assign(module, [inner], value.whole)
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    several = any(isinstance(each, ast.Starred) for each in parts)
                    for at, each in enumerate(parts):
                        self.assign(module, [each], value.whole if several else value.part(at, len(parts)))

    def into(self, module: Module, holder: ast.expr, value: Held) -> None:
        """Add to the value of a container: `models.append(model)`, `kept["best"] = model`."""
        match holder:
            case ast.Name() | ast.Attribute():
                self.assign(module, [holder], value.whole)
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                self.into(module, inner, value)

    def _bind_name(self, module: Module, node: ast.AST, name: str, value: Held) -> None:
        scope = scope_of(module, node).binding(name)
        if scope is not None:
            self.give(("name", id(scope.node), name), value)
            if scope.is_class and not isinstance(node, FUNCTIONS):
                self.give(("attribute", name), value.whole)
