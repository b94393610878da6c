"""Evaluate calls: listed functions, functions of the project, and all others, which read the models passed to them."""

import ast
from collections.abc import Iterable, Iterator

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.watchers.follow.code import Code
from scanify.analysis.watchers.follow.listed import (
    CONTAINERS,
    GRADIENTS,
    JOINED,
    OF_ARRAYS,
    OF_MODELS,
    OF_OBJECTS,
    ON_TREES,
    POSITIONAL,
    SCANS,
    TEXTS,
    WITH_VALUES,
    WRAPPERS,
    gives_tree,
    is_optimizer,
    tells,
)
from scanify.analysis.watchers.follow.values import (
    ARRAY,
    MANY,
    MODEL,
    NOTHING,
    OUTSIDE,
    TREE,
    Atom,
    Class,
    Function,
    Gradient,
    Held,
    Library,
    Object,
    held,
    join,
    tuple_of,
)
from scanify.analysis.watchers.names import callee
from scanify.analysis.watchers.rules import FIELDS, LIST
from scanify.analysis.watchers.tables import FILTERS, MAPS
from scanify.analysis.watchers.trees import Trees
from scanify.analysis.watchers.watcher import Watcher

SHOWN = "a text of a model that is shown"
_OPEN = frozenset("__class__ __call__ __init__ __name__ __doc__ __module__ __qualname__ __eq__ __post_init__".split())
_SHOWS = frozenset({"__repr__", "__str__", "__format__", "__tree_pp__"})


class Follower(Code):
    """Follows models through a project. `found` has the calls that are passed one and are not on the closed list."""

    def __init__(self, index: Index, models: Iterable[Definition], lists: Iterable[str]) -> None:
        self.found: dict[tuple[object, ...], Watcher] = {}
        self._called: set[int] = set()  # functions that code of the project calls
        self._reports = False
        super().__init__(index, models, lists)

    def follow(self) -> list[Watcher]:
        """Return the calls that are passed a model and are not shown to treat each number alike."""
        self.settle()
        self._from_outside()
        self.settle()
        self._reports = True
        for unit in [*self.units.values()]:
            self.run(*unit)
        return list(self.found.values())

    def bind(self, function: Function, given: Iterable[Held], named: dict[str, Held], more: Held = NOTHING) -> Held:
        self._called.add(id(function.node))
        return super().bind(function, given, named, more)

    def _from_outside(self) -> None:
        """Pass arguments to the functions that no code of the project calls: other code calls them.

        A parameter holds a model if a variable of its name does elsewhere, if it is called, or if its list is read.
        """
        trees = {key[2] for key, value in self.values.items() if key[0] == "name" and value.tree}
        trees = {name for name in trees if len(str(name)) > 1}
        free: list[tuple[ast.AST, ast.arg]] = []
        for _, node in self.units.values():
            if isinstance(node, FUNCTIONS) and id(node) not in self._called:
                args = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                free += ((node, each) for each in args)
                trees |= {each.arg for each in args if each.annotation is None} & set(self._used_as_models(node))
        for node, each in free:
            tree = each.arg in trees and each.annotation is None
            self.give(("name", id(node), each.arg), held(OUTSIDE, *([TREE] if tree else [])))

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
        starred = next((at for at, each in enumerate(node.args) if isinstance(each, ast.Starred)), len(given))
        more = join([*given[starred:], named.pop("**", NOTHING)]).whole
        return self._apply(module, node, function, given[:starred], named, more)

    def decorated(self, module: Module, decorator: ast.expr, value: Held) -> Held:
        return value | self._apply(module, decorator, self.value(module, decorator), [value])

    def _apply(
        self,
        module: Module,
        node: ast.expr,
        function: Held,
        given: list[Held],
        named: dict[str, Held] | None = None,
        more: Held = NOTHING,
    ) -> Held:
        """Return the result of a call, joined over everything that may be called."""
        named = named or {}
        every = join([*(each.whole for each in (*given, *named.values())), more])
        objects = (each.definition for each in function.atoms if isinstance(each, Object))
        atoms = join([function.whole, *(self.method(each, "__call__") for each in objects)]).atoms
        results = [
            self._result(module, node, each, given, named, more) for each in atoms if not isinstance(each, str | Object)
        ]
        method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if not results and method is not None and _fills(method.attr, given):
            self.into(module, method.value, every)
            results.append(self.value(module, method.value).whole)
        is_shown = (results or atoms & {TREE, OUTSIDE}) and MANY not in atoms
        if not is_shown and every.tree and isinstance(node, ast.Call) and not _is_super(method):
            self._reads(module, node, f"parameters with `{_short(module, node.func)}`, which is not shown")
            results.append(MODEL)
        if method is not None and function.tree:
            self._of_fields(module, method)
        return join(results)

    def _result(
        self, module: Module, node: ast.expr, atom: Atom, given: list[Held], named: dict[str, Held], more: Held
    ) -> Held:
        match atom:
            case Function():
                return self.bind(atom, given, named, more)
            case Gradient(function=inner):
                value = self._apply(module, node, held(inner), given, named, more) if inner is not None else NOTHING
                passed = join([*given, *named.values(), more]).atoms & {TREE, OUTSIDE}
                gradients = MODEL if atom.of_model or passed else NOTHING
                return tuple_of(value, gradients) if atom.with_value else gradients
            case Class(definition=owner):
                return self._constructed(owner, given, named, more)
            case Library(name=name):
                return self._library(module, node, name, given, named, more)
            case _:
                return NOTHING

    def _constructed(self, owner: Definition, given: list[Held], named: dict[str, Held], more: Held) -> Held:
        """Return an object of a class of the project, its constructor called."""
        every = join([*(each.whole for each in (*given, *named.values())), more])
        constructors = [each for each in self.method(owner, "__init__").atoms if isinstance(each, Function)]
        for each in constructors:
            self.bind(each, given, named, more)
        if not constructors:
            names = [*self.classes.fields(owner)]
            for name, value in (*zip(names, given, strict=False), *named.items(), *((each, more) for each in names)):
                self.give(("attribute", name), value.whole)
        if every.tree:
            self.learn(owner)
        return held(Object(owner), *([TREE] if owner in self.models or every.tree else []))

    # -- functions of libraries ------------------------------------------------------------------------------------

    def _library(
        self, module: Module, node: ast.expr, name: str, given: list[Held], named: dict[str, Held], more: Held
    ) -> Held:
        values = [*given, *named.values(), more]
        every = join(each.whole for each in values)
        is_hidden = isinstance(node, ast.Call) and callee(self.index, module, node.func) not in ON_TREES
        if name in ON_TREES and every.tree and is_hidden:  # calls of these are read where their name shows them
            self._reads(module, node, f"parameters with `{name}`, by another name")
        if name in WRAPPERS or name in GRADIENTS:
            return self._wrapped(name, given, named)
        if name in SCANS | POSITIONAL or name in JOINED:
            return self._calling(module, node, name, values)
        if name.startswith("gc.get_"):
            self._reads(module, node, "whatever objects there are")
        if name == "builtins.type" and len(given) == 1:
            return held(*(Class(each.definition) for each in every.atoms if isinstance(each, Object))) | every.trees
        if name == "builtins.getattr" and isinstance(node, ast.Call) and len(node.args) > 1:
            field = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
            if given[0].tree and not isinstance(field, str):
                self._reads(module, node, "fields by their names", FIELDS)
            return self.of_attribute(given[0], field) if isinstance(field, str) else given[0].whole
        if tells(name) or name in TEXTS:
            self._text(module, node, every, told=name not in TEXTS)
            return NOTHING
        return self._listed(module, node, name, every)

    def _listed(self, module: Module, node: ast.expr, name: str, every: Held) -> Held:
        """Return the result of a listed function; report an unlisted one that is passed a model."""
        gives = gives_tree(name)
        made = held(Library(name if name.endswith("()") or name.count("()") > 1 else f"{name}()"))
        if is_optimizer(name):
            for each in every.atoms:
                if isinstance(each, Function):
                    self.bind(each, (), {}, MODEL)
            trees = every.trees if gives else NOTHING
            if ")." in name and gives:
                return tuple_of(trees, trees) if name.endswith("update") else trees
            return made | trees
        if gives is None:
            if every.tree:
                self._reads(module, node, f"parameters with `{name.replace('builtins.', '')}`, which no table lists")
            return every.trees
        if name in FILTERS:
            return tuple_of(every.trees, every.trees) if name.endswith("partition") else every.trees
        if name in MAPS or not gives:
            array = held(ARRAY) if name.startswith(OF_ARRAYS) else NOTHING
            return every.trees if gives else array
        return every | made if name.startswith(OF_OBJECTS) and not name.endswith("()") else every

    def _wrapped(self, name: str, given: list[Held], named: dict[str, Held]) -> Held:
        """Return a wrapped function, or the wrapper itself if it has no function yet: `jax.jit(donate_argnums=0)`."""
        if not given:
            return held(Library(name))
        if name in GRADIENTS:
            kinds = (name in WITH_VALUES, name in OF_MODELS)
            functions = [each for each in given[0].atoms if isinstance(each, Function | Library | Object)]
            unknown = [] if functions or given[0].atoms & {TREE, OUTSIDE} else [MANY]
            return held(*(Gradient(each, *kinds) for each in functions or (None,)), *unknown)
        if not name.endswith((".partial", "Partial")):
            return given[0]
        for each in given[0].atoms:
            if isinstance(each, Function):
                self.bind(each, given[1:], named)
        return given[0].shifted(len(given) - 1)

    def _calling(self, module: Module, node: ast.expr, name: str, values: list[Held]) -> Held:
        """Return the result of a function that calls another one, such as `jax.lax.scan`."""
        if name in JOINED:
            more = join(each.whole for each in values)
            called = [values[at] for at in JOINED[name] if at < len(values)]
            results = [self._apply(module, node, each.whole, [], {}, more).whole for each in called]
            return join([*results, more] if len(called) < 2 or "loop" in name else results)
        function, *rest = values
        if name in SCANS:
            carry, data = (*rest, NOTHING, NOTHING)[:2]
            result = self._apply(module, node, function, [carry, join(data.parts or [data])])
            result = self._apply(module, node, function, [carry | result.part(0, 2), join(data.parts or [data])])
            return tuple_of(carry | result.part(0, 2), result.part(1, 2))
        if name.endswith(("map", "filter")):
            rest = [join(each.parts or [each]) for each in rest]
        result = self._apply(module, node, function, rest)
        if not name.endswith(("vjp", "linearize")):
            return result
        return tuple_of(result, held(Gradient(None, of_model=True)) if join(rest).tree else NOTHING)

    # -- what is reported ------------------------------------------------------------------------------------------

    def _reads(self, module: Module, node: ast.AST, reads: str, rule: str = LIST) -> None:
        if self._reports:
            place = module.place(node)
            self.found.setdefault((place, reads), Watcher(place, reads, rule=rule, given=True, node=node))

    def _of_fields(self, module: Module, method: ast.Attribute) -> None:
        """Report Python's own attributes of an object: `model.__dict__`, `model.__reduce__()`."""
        if method.attr.startswith("__") and method.attr not in _OPEN:
            self._reads(module, method, "what the fields of an object hold", FIELDS)

    def _text(self, module: Module, node: ast.AST, value: Held, *, told: bool = False) -> None:
        """Report a text of a model; one that only a person sees is a note."""
        if value.tree and self._reports:
            around = (each.name for each in ancestors(module, node) if isinstance(each, ast.FunctionDef))
            shown = told or _SHOWS.intersection(around) or Trees(self.index, module).is_only_told(node)
            self._reads(module, node, SHOWN if shown else "the text of a model")

    def matched(self, module: Module, node: ast.Match, value: Held) -> None:
        """Report patterns that read fields of a model: `case Model(layers=[first, *others])`."""
        for each in nodes_in(*(case.pattern for case in node.cases)) if value.tree else ():
            lists = isinstance(each, ast.MatchClass) and (each.patterns or self.lists.intersection(each.kwd_attrs))
            if lists or isinstance(each, ast.MatchSequence | ast.MatchMapping):
                self._reads(module, each, "what the fields of an object hold", FIELDS)

    def evaluated(self, module: Module, node: ast.expr) -> Held:
        value = super().evaluated(module, node)
        if self._reports:
            for each in _formatted(node):
                self._text(module, node, self.value(module, each))
            if isinstance(node, ast.Attribute) and self.value(module, node.value).tree:
                self._of_fields(module, node)
        return value


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
