"""Evaluate expressions, and the statements that give values to names, attributes and results."""

import ast
from dataclasses import replace

from scanify.analysis.index import Definition, Module
from scanify.analysis.index.bindings import Import
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import inner_scope, own_nodes, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.follow.held import NOTHING, Function, Held, join, tuple_of
from scanify.analysis.watchers.follow.state import State
from scanify.analysis.watchers.names import imported, imported_in_place

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_EVALUATED = (
    ast.Assign, ast.AugAssign, ast.NamedExpr, ast.AnnAssign, ast.For, ast.AsyncFor, ast.comprehension, ast.withitem,
    ast.Return, ast.Yield, ast.YieldFrom, ast.Match, *_FUNCTIONS, ast.Import, ast.ImportFrom, ast.ClassDef, ast.Call,
    ast.Lambda, ast.Attribute, ast.FormattedValue, ast.BinOp,
)  # fmt: skip


class Expressions(State):
    """Evaluates expressions, each once in a run."""

    _memo: dict[int, Held]
    _parts: dict[int, list[ast.AST]]  # of each unit what gives something to a name, an attribute or a result, and calls

    def run(self, module: Module, node: ast.AST) -> None:
        self._memo = {}
        assert isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef, ast.Module))
        if isinstance(node, ast.Lambda):
            self.give(("result", id(node)), self.value(module, node.body))
        if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
            self._parameters(module, node)
        if id(node) not in self._parts:
            self._parts[id(node)] = [each for each in own_nodes(node) if isinstance(each, _EVALUATED)]
        for each in self._parts[id(node)]:
            self._statement(module, node, each)

    def called(self, module: Module, node: ast.Call) -> Held:
        raise NotImplementedError

    def matched(self, module: Module, node: ast.Match, held: Held) -> None:
        raise NotImplementedError

    # -- expressions -----------------------------------------------------------------------------------------------

    def value(self, module: Module, node: ast.expr) -> Held:
        """Return the value of an expression."""
        known = self._memo.get(id(node))
        if known is None:
            self._memo[id(node)] = NOTHING
            known = self._memo[id(node)] = self._value(module, node)
        return known

    def _value(self, module: Module, node: ast.expr) -> Held:
        match node:
            case ast.Name():
                return self.of_name(module, node)
            case ast.Attribute():
                return self._attribute(module, node)
            case ast.Call():
                return self.called(module, node)
            case ast.Subscript():
                return self._part(module, node)
            case ast.Tuple(elts=elements) if not any(isinstance(each, ast.Starred) for each in elements):
                return tuple_of(self.value(module, each) for each in elements)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return join(self.value(module, each).whole for each in elements)
            case ast.Dict(values=values):
                return join(self.value(module, each).whole for each in values)
            case ast.IfExp(body=body, orelse=other):
                return self.value(module, body) | self.value(module, other)
            case ast.BoolOp(values=values):
                return join(self.value(module, each) for each in values)
            case ast.BinOp(left=left, right=right):
                return (self.value(module, left) | self.value(module, right)).whole
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                return self.value(module, inner)
            case ast.Starred(value=inner):
                return self.value(module, inner).whole
            case ast.Lambda():
                self.look_at(module, node)
                return Held(functions=frozenset({Function(module, node)}))
            case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
                return self.value(module, element).whole
            case ast.DictComp(value=element):
                return self.value(module, element).whole
            case _:
                return NOTHING

    def _attribute(self, module: Module, node: ast.Attribute) -> Held:
        if (path := imported_in_place(node)) is not None:
            return self.of_meanings(imported(self.index, module, Import(path, False, False), ""))
        name = dotted(node)
        if name is not None:
            first = scope_of(module, node).binding(name.partition(".")[0])
            if first is None or first.parent is None:
                root = name.partition(".")[0]
                if root in module.imports or root in module.definitions or module.bindings.stars:
                    return self.of_global(module, name)
        return self.of_attribute(self.value(module, node.value), node.attr)

    def _part(self, module: Module, node: ast.Subscript) -> Held:
        if isinstance(node.value, ast.Attribute) and node.value.attr in self.lists:
            return self._layers(self.value(module, node.value))
        whole = self.value(module, node.value)
        match node.slice:
            case ast.Constant(value=int(at)):
                return whole.part(at)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(at))):
                return whole.part(-at)
            case _:
                return whole.whole

    def _layers(self, held: Held) -> Held:
        """Return a layer of a list. It is no model: a list of its own is read from one of its fields."""
        return replace(held.whole, tree=False)

    def elements(self, module: Module, node: ast.expr) -> Held:
        """Return the value of any element of an iterable."""
        match node:
            case ast.Attribute(attr=name) if name in self.lists:
                return self._layers(self.value(module, node))
            case ast.Call(func=ast.Name(id="zip"), args=args) if not any(isinstance(a, ast.Starred) for a in args):
                return tuple_of(self.elements(module, each) for each in args)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                return tuple_of([NOTHING, self.elements(module, inner)])
            case ast.Call(func=ast.Name(id="reversed" | "list" | "tuple" | "iter" | "sorted"), args=[inner, *_]):
                return self.elements(module, inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="items"), args=[]):
                return tuple_of([NOTHING, self.value(module, inner).whole])
            case ast.Tuple(elts=parts) | ast.List(elts=parts) if parts:
                return join(self.value(module, each) for each in parts)
            case _:
                held = self.value(module, node)
                return join(held.parts) if held.parts else held

    # -- statements ------------------------------------------------------------------------------------------------

    def _statement(self, module: Module, around: ast.AST, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self.assign(module, target, self.value(module, value))
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                self.assign(module, target, self.value(module, value))
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                held = self.annotated(module, annotation)
                self.assign(module, target, held | self.value(module, value) if value is not None else held)
            case ast.For(target=target, iter=walked) | ast.AsyncFor(target=target, iter=walked):
                self.assign(module, target, self.elements(module, walked))
            case ast.comprehension(target=target, iter=walked):
                self.assign(module, target, self.elements(module, walked))
            case ast.withitem(context_expr=made, optional_vars=ast.expr() as target):
                self.assign(module, target, self.value(module, made))
            case ast.Return(value=ast.expr() as value):
                self.give(("result", id(around)), self.value(module, value))
            case ast.Yield(value=ast.expr() as value) | ast.YieldFrom(value=value):
                self.give(("result", id(around)), self.value(module, value).whole)
            case ast.Match(subject=subject, cases=cases):
                held = self.value(module, subject).whole
                self.matched(module, node, held)
                for each in nodes_in(*(case.pattern for case in cases)):
                    name = getattr(each, "name", None) or getattr(each, "rest", None)
                    if isinstance(name, str):
                        self.give(("name", id(inner_scope(module, around).node), name), held)  # type: ignore[arg-type]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(module, node)
            case ast.Import() | ast.ImportFrom() if not isinstance(around, ast.Module):
                for local, origin in module.imported(node).items():
                    self._bind_name(module, node, local, self.of_meanings(imported(self.index, module, origin, "")))
            case ast.ClassDef():
                self.look_at(module, node)
                self._bind_name(module, node, node.name, self.of_definition(Definition(module, node.name, node)))
            case ast.Call() | ast.Lambda() | ast.FormattedValue() | ast.BinOp(op=ast.Mod()):
                self.value(module, node)
            case ast.Attribute(attr=name) if name.startswith("__"):
                self.value(module, node)

    def _define(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Bind a function to its name; each decorator is a call with it."""
        self.look_at(module, node)
        held = self.of_function(module, node)
        for decorator in reversed(node.decorator_list):
            held = self.apply(module, decorator, held)
            self.give(("decorated", id(node)), held)
        self._bind_name(module, node, node.name, held)

    def apply(self, module: Module, decorator: ast.expr, held: Held) -> Held:
        raise NotImplementedError

    def _parameters(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Give parameters their defaults, objects of their annotations, and `self` to methods."""
        args = node.args
        scope = inner_scope(module, node)
        positional = [*args.posonlyargs, *args.args]
        owner = scope.parent.node if scope.parent is not None else None
        if isinstance(owner, ast.ClassDef) and positional and not isinstance(node, ast.Lambda):
            names = {(dotted(each) or "").rpartition(".")[2] for each in node.decorator_list}
            found = Definition(module, owner.name, owner)
            if "staticmethod" not in names:
                held = Held(tree=found in self.models)
                kind = frozenset({found})
                own = replace(held, classes=kind) if "classmethod" in names else replace(held, objects=kind)
                self.give(("name", id(node), positional[0].arg), own)
        for each in (*positional, *args.kwonlyargs):
            if each.annotation is not None:
                self.give(("name", id(node), each.arg), self.annotated(module, each.annotation))
        pairs = [*zip(reversed(positional), reversed(args.defaults), strict=False)]
        pairs += [
            (arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None
        ]
        for arg, default in pairs:
            self.give(("name", id(node), arg.arg), self.value(module, default))

    def annotated(self, module: Module, annotation: ast.expr) -> Held:
        """Return an object of the classes of the project that an annotation names."""
        if isinstance(annotation, ast.BinOp):
            return self.annotated(module, annotation.left) | self.annotated(module, annotation.right)
        if isinstance(annotation, ast.Subscript):
            inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
            return join(self.annotated(module, each) for each in [annotation.value, *inner]).whole
        found = self.class_named(module, annotation)
        return Held(objects=frozenset({found}), tree=found in self.models) if found is not None else NOTHING

    def assign(self, module: Module, target: ast.expr, held: Held) -> None:
        """Add to the value of an assignment's target."""
        match target:
            case ast.Name(id=name):
                self._bind_name(module, target, name, held)
            case ast.Attribute(attr=name):
                self.give(("attribute", name), held.whole)
            case ast.Subscript(value=value):
                self.into(module, value, held.whole)
            case ast.Starred(value=value):
                self.assign(module, value, held.whole)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                several = any(isinstance(each, ast.Starred) for each in elements)
                for at, each in enumerate(elements):
                    self.assign(module, each, held.whole if several else held.part(at, len(elements)))

    def into(self, module: Module, holder: ast.expr, held: Held) -> None:
        """Add to the value of a container: `models.append(model)`, `kept["best"] = model`."""
        match holder:
            case ast.Name() | ast.Attribute():
                self.assign(module, holder, held.whole)
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                self.into(module, inner, held)

    def _bind_name(self, module: Module, node: ast.AST, name: str, held: Held) -> None:
        scope = scope_of(module, node).binding(name)
        if scope is None:
            return
        self.give(("name", id(scope.node), name), held)
        if scope.is_class and not isinstance(node, _FUNCTIONS):
            self.give(("attribute", name), held.whole)
