"""Evaluate calls: listed functions, functions of the project, and all others, which read the models given to them."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import ancestors
from scanify.analysis.watchers.follow.expressions import Expressions
from scanify.analysis.watchers.follow.held import (
    NOTHING,
    TREE,
    Function,
    Held,
    Library,
    bound,
    join,
    transformed,
    tuple_of,
)
from scanify.analysis.watchers.follow.listed import (
    ARRAY,
    ASKED_ELSEWHERE,
    CALLS,
    CONTAINERS,
    GIVES_TREES,
    GRADIENTS,
    OF_MODELS,
    PACKAGES,
    TELLING,
    TELLS,
    TEXTS,
    VALUES_AND_GRADIENTS,
    WRAPPERS,
    gives_tree,
    is_layer,
    is_optimizer,
    makes_array,
)
from scanify.analysis.watchers.names import callee
from scanify.analysis.watchers.rules import FIELDS, LIST
from scanify.analysis.watchers.stacks import fields
from scanify.analysis.watchers.tables import FILTERS, MAPS
from scanify.analysis.watchers.trees import Trees
from scanify.analysis.watchers.watcher import Watcher

_OPEN = frozenset("__class__ __call__ __init__ __name__ __doc__ __module__ __qualname__ __eq__ __post_init__".split())
_SHOWS = frozenset({"__repr__", "__str__", "__format__", "__tree_pp__"})
_MAX_MADE = 2
SHOWN = "a text of a model that is shown"


class Follower(Expressions):
    """Follows models through a project. `found` has the calls that are given one and are not on the closed list."""

    def __init__(self, index: Index, models: Iterable[Definition], lists: Iterable[str]) -> None:
        self.found: dict[tuple[object, ...], Watcher] = {}
        self._bound: set[int] = set()
        self._reports = False
        self._parts = {}
        super().__init__(index, models, lists)

    def follow(self) -> list[Watcher]:
        """Return the calls that are given a model and are not shown to treat each number alike."""
        self.settle()
        self._from_outside()
        self.settle()
        self._reports = True
        for unit in self.units():
            self.run(*unit)
        return list(self.found.values())

    def bind(self, function: Function, given: Iterable[Held], named: dict[str, Held], more: Held = NOTHING) -> Held:
        self._bound.add(id(function.node))
        return super().bind(function, given, named, more)

    def _from_outside(self) -> None:
        """Give parameters to the functions that no code of the project calls: other code calls them.

        A parameter holds a model if a variable of its name does elsewhere, if it is called, or if its list is read.
        """
        trees = {key[2] for key, held in self._held.items() if key[0] == "name" and held.tree and len(str(key[2])) > 1}
        free: list[tuple[ast.AST, ast.arg]] = []
        for _, node in self.units():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and id(node) not in self._bound:
                args = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                free += ((node, each) for each in args)
                trees |= {each.arg for each in args if each.annotation is None} & set(self._used_as_models(node))
        for node, each in free:
            tree = each.arg in trees and each.annotation is None
            self.give(("name", id(node), each.arg), Held(tree=tree, outside=True))

    def _used_as_models(self, node: ast.AST) -> Iterator[str]:
        for each in nodes_in(node):
            match each:
                case ast.Call(func=ast.Name(id=name)):
                    yield name
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in self.lists:
                    yield name

    # -- calls -----------------------------------------------------------------------------------------------------

    def called(self, module: Module, node: ast.Call) -> Held:
        function = self.value(module, node.func)
        given = [self.value(module, each) for each in node.args]
        named = {each.arg or "**": self.value(module, each.value) for each in node.keywords}
        starred = [held for each, held in zip(node.args, given, strict=True) if isinstance(each, ast.Starred)]
        if starred:
            first = next(at for at, each in enumerate(node.args) if isinstance(each, ast.Starred))
            more, given = join(given[first:]), given[:first]
        else:
            more = NOTHING
        more |= named.pop("**", NOTHING)
        return self._apply(module, node, function, given, named, more.whole)

    def apply(self, module: Module, decorator: ast.expr, held: Held) -> Held:
        function = self.value(module, decorator)
        return self._apply(module, decorator, function, [held], {}, NOTHING) or held

    def _apply(
        self, module: Module, node: ast.expr, function: Held, given: list[Held], named: dict[str, Held], more: Held
    ) -> Held:
        """Return the result of a call, joined over everything that may be called."""
        results = []
        calls = self._with_calls(function)
        for each in calls.functions:
            if isinstance(each, Function):
                result = self.bind(each, given, named, more)
                results.append(self._gradients(each.gives, result, given) if each.gives else result)
            else:
                results.append(self._library(module, node, each, given, named, more))
        results += [self._constructed(owner, given, named, more) for owner in function.classes]
        method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        every = join([*(each.whole for each in (*given, *named.values())), more])
        if not results and method is not None and _fills(method.attr, given):
            self.into(module, method.value, every)
            results.append(self.value(module, method.value).whole)
        if not results and function.made and (not every.tree or all(map(is_optimizer, function.made))):
            results.append(Held(made=function.made))  # `optax.inject_hyperparams(optax.adam)(1e-3)`
        if not results and function.made and all(map(is_layer, function.made)):
            results.append(every)
        known = results or function.tree or function.outside
        if not known and every.tree and isinstance(node, ast.Call) and not _is_super(method):
            self._reads(module, node, f"parameters with `{_short(module, node.func)}`, which is not shown")
            results.append(TREE)
        if method is not None and function.tree:
            self._of_fields(module, method)
        return join(results)

    def _with_calls(self, function: Held) -> Held:
        """Add the `__call__` methods of objects of the project."""
        return join([function, *(self.method(each, "__call__", bound=True) for each in function.objects)])

    def _constructed(self, owner: Definition, given: list[Held], named: dict[str, Held], more: Held) -> Held:
        """Return an object of a class of the project, its constructor called."""
        every = join([*(each.whole for each in (*given, *named.values())), more])
        constructor = self.method(owner, "__init__", bound=True)
        for each in constructor.functions:
            if isinstance(each, Function):
                self.bind(each, given, named, more)
        if not constructor.functions:
            names = [*fields(owner.node)]
            for name, held in (*zip(names, given, strict=False), *named.items(), *((each, more) for each in names)):
                self.give(("attribute", name), held.whole)
        if every.tree:
            self.learn(owner)
        return Held(objects=frozenset({owner}), tree=owner in self.models or every.tree)

    # -- functions of libraries ------------------------------------------------------------------------------------

    def _library(
        self, module: Module, node: ast.expr, function: Library, given: list[Held], named: dict[str, Held], more: Held
    ) -> Held:
        name, arguments = function.name, [*given, *named.values(), more]
        every = join(each.whole for each in arguments)
        if function.gives:
            return self._gradients(function.gives, NOTHING, arguments)
        hidden = isinstance(node, ast.Call) and callee(self.index, module, node.func) not in ASKED_ELSEWHERE
        if name in ASKED_ELSEWHERE and every.tree and hidden:  # calls of these are read where their name shows them
            self._reads(module, node, f"parameters with `{name}`, by another name")
        if name in WRAPPERS:
            return self._wrapped(name, given, named)
        if name in GRADIENTS | VALUES_AND_GRADIENTS:
            gives = "value_and_grad" if name in VALUES_AND_GRADIENTS else "grad"
            aux = isinstance(node, ast.Call) and any(each.arg == "has_aux" for each in node.keywords)
            gives = f"{'model_' if name in OF_MODELS else ''}{gives}{'_aux' if aux else ''}"
            inner = given[0] if given else NOTHING
            return transformed(inner, gives) if given else Held(functions=frozenset({replace(function, gives="")}))
        if name in CALLS:
            return self._calls(CALLS[name], name, given, named)
        if name == "functools.reduce" and isinstance(node, ast.Call) and len(node.args) > 1:
            return self._folded(given, self.elements(module, node.args[1]))
        if name.startswith("gc.get_"):
            self._reads(module, node, "whatever objects there are")
        if name == "builtins.type" and len(given) == 1:
            return Held(classes=given[0].objects, tree=given[0].tree)
        if name == "builtins.getattr" and isinstance(node, ast.Call) and len(node.args) > 1:
            field = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
            if given[0].tree and not isinstance(field, str):
                self._reads(module, node, "fields by their names", FIELDS)
            return self.of_attribute(given[0], field) if isinstance(field, str) else given[0].whole
        if name in TELLS | TEXTS or name.startswith(TELLING):
            self._text(module, node, every, told=name not in TEXTS)
            return NOTHING
        return self._listed(module, node, name, arguments, every)

    def _listed(self, module: Module, node: ast.expr, name: str, arguments: list[Held], every: Held) -> Held:
        """Return the result of a listed function; report an unlisted one that is given a model."""
        gives = gives_tree(name)
        if is_optimizer(name):
            for each in (each for held in arguments for each in held.functions if isinstance(each, Function)):
                self.bind(each, (), {}, TREE)
            if "()" in name:
                return tuple_of([Held(tree=every.tree)] * 2) if name.endswith("update") else Held(tree=every.tree)
            return Held(made=frozenset({name}), tree=bool(gives) and every.tree)
        if is_layer(name):
            return Held(made=frozenset({name}), tree=every.tree)
        if gives is None:
            if every.tree:
                self._reads(module, node, f"parameters with `{name.replace('builtins.', '')}`, which no table lists")
                return TREE
            return _made(name)
        if not gives:
            return _made(ARRAY) if makes_array(name) else NOTHING
        if name in FILTERS:
            return tuple_of([Held(tree=every.tree)] * 2) if name.endswith("partition") else Held(tree=every.tree)
        if name in MAPS or name in GIVES_TREES:
            return Held(tree=every.tree)
        return every | _made(name) if name.startswith(PACKAGES) else every

    def _wrapped(self, name: str, given: list[Held], named: dict[str, Held]) -> Held:
        """Return a wrapped function, or the wrapper itself if it has no function yet: `jax.jit(donate_argnums=0)`."""
        if not given:
            return Held(functions=frozenset({Library(name)}))
        if not name.endswith(".partial") and not name.endswith("Partial"):
            return given[0]
        for each in given[0].functions:
            if isinstance(each, Function):
                self.bind(each, given[1:], named)
        return bound(given[0], len(given) - 1)

    def _gradients(self, gives: str, result: Held, arguments: Iterable[Held]) -> Held:
        of_model = gives.startswith("model_") or any(each.tree or each.outside for each in arguments)
        gradients = TREE if of_model else NOTHING
        if gives.removeprefix("model_").startswith("value"):
            value = result if "aux" in gives else NOTHING
            return tuple_of([value, gradients])
        return tuple_of([gradients, result.part(1, 2)]) if "aux" in gives else gradients

    def _calls(self, kind: str, name: str, given: list[Held], named: dict[str, Held]) -> Held:
        """Return the result of a function that calls another one, such as `jax.lax.scan`."""
        values = [*given, *named.values()]
        if kind == "scan" and len(values) > 1:
            function, carry, *rest = values
            result = self._each(function, [carry, *(join(each.parts or [each]) for each in rest[:1])])
            again = self._each(function, [result.part(0, 2)])
            return tuple_of([carry | again.part(0, 2), again.part(1, 2)])
        if kind == "fori" and len(values) > 3:
            return values[3] | self._each(values[2], [NOTHING, values[3] | self._each(values[2], [NOTHING, values[3]])])
        if kind == "while" and len(values) > 2:
            self._each(values[0], [values[2]])
            return values[2] | self._each(values[1], [values[2] | self._each(values[1], [values[2]])])
        if kind == "cond" and len(values) > 2:
            return self._each(values[1] | values[2], values[3:])
        if kind == "switch" and len(values) > 1:
            return self._each(values[1].whole, values[2:])
        if kind == "tuples" and len(values) > 1:
            result = self._each(values[0], list(values[1].parts or [values[1]]))
            return tuple_of([result, result])
        result = self._each(values[0], [join(each.parts or [each]) if kind == "map" else each for each in values[1:]])
        if name.endswith("vjp"):
            pulled = Held(functions=frozenset({Library("", "model_grad")}))
            return tuple_of([result, pulled if any(each.tree for each in values[1:]) else NOTHING])
        return result

    def _folded(self, given: list[Held], element: Held) -> Held:
        """Return the result of `functools.reduce(function, elements, first)`."""
        carry = given[2] if len(given) > 2 else element
        carry |= self._each(given[0], [carry, element])
        return carry | self._each(given[0], [carry, element])

    def _each(self, function: Held, given: list[Held]) -> Held:
        found = NOTHING
        for each in self._with_calls(function).functions:
            if isinstance(each, Function):
                found |= self.bind(each, given, {})
        return found | join(self._constructed(owner, given, {}, NOTHING) for owner in function.classes)

    # -- what is reported ------------------------------------------------------------------------------------------

    def _reads(self, module: Module, node: ast.AST, reads: str, rule: str = LIST) -> None:
        if self._reports:
            place = module.place(node)
            self.found.setdefault((place, reads), Watcher(place, reads, rule=rule, given=True, node=node))

    def _of_fields(self, module: Module, method: ast.Attribute) -> None:
        """Report Python's own attributes of an object: `model.__dict__`, `model.__reduce__()`."""
        if method.attr.startswith("__") and method.attr not in _OPEN:
            self._reads(module, method, "what the fields of an object hold", FIELDS)

    def _text(self, module: Module, node: ast.AST, held: Held, *, told: bool = False) -> None:
        """Report a text of a model; one that only a person sees is a note."""
        if held.tree and self._reports:
            around = (each.name for each in ancestors(module, node) if isinstance(each, ast.FunctionDef))
            shown = told or _SHOWS.intersection(around) or Trees(self.index, module).is_only_told(node)
            self._reads(module, node, SHOWN if shown else "the text of a model")

    def matched(self, module: Module, node: ast.Match, held: Held) -> None:
        """Report patterns that read fields of a model: `case Model(layers=[first, *others])`."""
        parts = nodes_in(*(case.pattern for case in node.cases)) if held.tree else []
        for each in parts:
            lists = isinstance(each, ast.MatchClass) and (each.patterns or self.lists.intersection(each.kwd_attrs))
            if lists or isinstance(each, ast.MatchSequence | ast.MatchMapping):
                self._reads(module, each, "what the fields of an object hold", FIELDS)

    def _value(self, module: Module, node: ast.expr) -> Held:
        held = super()._value(module, node)
        if self._reports:
            for each in _formatted(node):
                self._text(module, node, self.value(module, each))
            if isinstance(node, ast.Attribute) and self.value(module, node.value).tree:
                self._of_fields(module, node)
        return held


def _made(name: str) -> Held:
    return Held(made=frozenset({name if name.count("()") < _MAX_MADE else name.rpartition("().")[0]}))


def _formatted(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that become part of a text: `f"{model}"`, `"%s" % model`, `"{}".format(model)`."""
    match node:
        case ast.FormattedValue(value=value):
            yield value
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
            yield from right.elts if isinstance(right, ast.Tuple) else [right]
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="format"), args=args):
            yield from args


def _fills(name: str, given: list[Held]) -> bool:
    """True for a method of containers; optimizers have an `update` of several arguments."""
    return name in CONTAINERS and (name != "update" or len(given) < 2)


def _is_super(method: ast.Attribute | None) -> bool:
    """True for `super().__init__(...)`, whose class is one of a library."""
    owner = method.value if method is not None else None
    return isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"


def _short(module: Module, node: ast.AST) -> str:
    text = " ".join(module.code(node).split())
    return text if len(text) <= 50 else f"{text[:47]}..."
