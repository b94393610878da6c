"""Follow models through a project, to calls of what is not on the closed list.

flow ─> code ─> values
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from operator import or_

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.code import CONTAINER, Code
from scanify.analysis.watchers.library import (
    CONTAINERS,
    GIVES,
    GRADIENTS,
    JUDGED,
    LAST_TELLS,
    LAST_WRITES,
    POSITIONAL,
    TELLS,
    WRAPPERS,
    WRITES,
    called_arguments,
    role_of,
)
from scanify.analysis.watchers.names import callees
from scanify.analysis.watchers.values import (
    MODEL,
    NOTHING,
    TREE,
    UNKNOWN,
    Atom,
    Instance,
    Named,
    Value,
    Wrapped,
    join,
    tuple_of,
    value_of,
)
from scanify.analysis.watchers.watcher import Watcher, rule_of

SHOWN = "a text of a model that is shown"
_FIELDS = "what the fields of an object hold"
_WALKERS = ("builtins.vars", "builtins.dir", "dataclasses.", "inspect.", "typing.", "operator.attrgetter")
_BY_NAME = frozenset(f"builtins.{name}" for name in "getattr setattr delattr object.__setattr__".split())
_REACHING = ("gc.get_", "builtins.eval", "builtins.exec", "builtins.locals", "builtins.globals", "sys._getframe")
_CONTAINERS = tuple("builtins.list builtins.dict builtins.set .deque .OrderedDict .defaultdict".split())
_OPEN = frozenset("__class__ __call__ __init__ __name__ __doc__ __module__ __qualname__ __eq__ __post_init__".split())
_SHOWS = frozenset({"__repr__", "__str__", "__format__", "__tree_pp__"})


class Flow(Code):
    """Follows models through a project. `found` has the calls that are passed one and are not on the closed list."""

    def __init__(self, index: Index, models: Collection[Definition], lists: Collection[str]) -> None:
        self.found: dict[tuple[object, ...], Watcher] = {}
        self._called: set[ast.AST] = set()  # functions that code of the project calls
        self._lists = lists
        self._reports = False
        self._is_calling = False  # functions of a library that calls what it is given
        super().__init__(index, models, lists)

    def follow(self) -> list[Watcher]:
        """Return the calls that are passed a model and are not shown to treat each number alike."""
        self.settle()
        self._from_outside()
        self.settle()
        self._reports = True
        for node, module in [*self.units.items()] if self.complete else ():
            self.run(module, node)
        return list(self.found.values())

    def bind(
        self, module: Module, node: ast.AST, given: Iterable[Value], named: dict[str, Value], more: Value = NOTHING
    ) -> Value:
        self._called.add(node)
        self.steps += 1
        return super().bind(module, node, given, named, more)

    def _from_outside(self) -> None:
        """Pass arguments to the functions that no code of the project calls: other code calls them.

        A parameter holds a model if a variable of its name does elsewhere, if it is called, or if its list is read; and
        if an operator or a statement may pass one: `model | report` calls `__ror__`.
        """
        trees = {str(key[-1]) for key, value in self.values.items() if key[0] == "name" and value.tree}
        trees = {name for name in trees if len(name) > 1}
        free = [each for each in self.units if isinstance(each, FUNCTIONS) and each not in self._called]
        trees |= {name for each in free for name in self._used_as_models(each)}
        for node in free:
            is_special = node.name.startswith("__") and node.name not in _OPEN
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                is_tree = (is_special or each.arg in trees) and each.annotation is None
                self.give(value_of(UNKNOWN, *([TREE] if is_tree else [])), "name", node, each.arg)

    def _used_as_models(self, node: ast.AST) -> Iterator[str]:
        for each in nodes_in(node):
            match each:
                case ast.Call(func=ast.Name(id=name)):
                    yield name
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in self._lists:
                    yield name

    # -- calls --------------------------------------------------------------------------------------------------------

    def called(self, module: Module, node: ast.Call) -> Value:
        function = self.value(module, node.func)
        given = [self.value(module, each) for each in node.args]
        named = {each.arg or "**": self.value(module, each.value) for each in node.keywords}
        starred = next((at for at, each in enumerate(node.args) if isinstance(each, ast.Starred)), len(given))
        more = join([*given[starred:], named.pop("**", NOTHING)])
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant):  # "{}".format(model)
            self._text(module, node, join([*given, *named.values()]))
        return self._apply(module, node, function, given[:starred], named, more)

    def decorated(self, module: Module, decorator: ast.expr, value: Value) -> Value:
        return self._apply(module, decorator, self.value(module, decorator), [value], {})

    def _apply(
        self,
        module: Module,
        node: ast.expr,
        function: Value,
        given: list[Value],
        named: dict[str, Value],
        more: Value = NOTHING,
    ) -> Value:
        """Return the result of a call, joined over everything that may be called."""
        every = join([*given, *named.values(), more])
        results: list[Value] = []
        for atom in function.atoms:
            match atom:
                case Named(name=name):
                    for where, found in self.definitions.get(name, ()):
                        is_class = isinstance(found, ast.ClassDef)
                        bound = self._constructed if is_class else self.bind
                        results.append(bound(where, found, given, named, more))
                case ast.Lambda():
                    results.append(self.bind(module, atom, given, named, more))
                case Instance(owner=owner):
                    lineage = (*self.classes.lineage(owner), *self.classes.heirs(owner))
                    calls = ((each.module, self.classes.methods(each).get("__call__")) for each in lineage)
                    results += [self.bind(where, each, given, named, more) for where, each in calls if each is not None]
                    results.append(NOTHING)
                case Wrapped():
                    results.append(self._of_wrapped(module, node, atom, given, named, more))
                case str():
                    is_data = atom in (TREE, CONTAINER)
                    results.append(NOTHING if is_data else self._library(module, node, atom, given, named, more))
        if results:
            return reduce(or_, results)
        if isinstance(node, ast.Call) and every.tree:
            self._reads(module, node, f"parameters with {self._not_shown(module, node)}")
            return MODEL
        return NOTHING

    def _not_shown(self, module: Module, node: ast.expr) -> str:
        text = " ".join(module.code(node.func if isinstance(node, ast.Call) else node).split())
        return f"`{text if len(text) <= 50 else f'{text[:47]}...'}`, which is not shown"

    def _of_wrapped(
        self, module: Module, node: ast.expr, atom: Wrapped, given: list[Value], named: dict[str, Value], more: Value
    ) -> Value:
        every = join([*given, *named.values(), more])
        function = value_of(atom.function) if atom.function is not None else NOTHING
        if atom.by == "partial":
            return self._apply(module, node, function, [], {}, every)
        value = self._apply(module, node, function, given, named, more) if function != NOTHING else NOTHING
        gradients = MODEL if atom.function is None or every.atoms & {TREE, UNKNOWN} else NOTHING
        return tuple_of(value, gradients) if atom.by == "value and gradient" else gradients

    def _constructed(
        self, module: Module, node: ast.AST, given: Iterable[Value], named: dict[str, Value], more: Value
    ) -> Value:
        """Return an object of a class of the project, its constructor called."""
        assert isinstance(node, ast.ClassDef)
        owner, given = Definition(module, node.name, node), list(given)
        found = self.classes.method(owner, "__init__")
        if found is not None:
            self.bind(found[0].module, found[1], given, named, more)
        else:
            names = [*self.classes.fields(owner)]
            for name, value in (*zip(names, given, strict=False), *named.items(), *((each, more) for each in names)):
                self.give(value.whole, "attribute", name)
        is_tree = owner in self.models or join([*given, *named.values(), more]).tree
        return value_of(Instance(owner), *([TREE] if is_tree else []))

    # -- functions of libraries ---------------------------------------------------------------------------------------

    def _library(
        self, module: Module, node: ast.expr, name: str, given: list[Value], named: dict[str, Value], more: Value
    ) -> Value:
        every = join([*given, *named.values(), more])
        if name in GRADIENTS | WRAPPERS:
            return self._wrapped(module, node, name, given, named)
        if places := called_arguments(name):
            if self._is_calling:  # such functions may call one another for ever
                self._reads(module, node, f"parameters with `{name}` in another such call", unless=not every.tree)
                return every
            self._is_calling = True
            result = self._calling(module, node, name, given, [*named.values(), more], places)
            self._is_calling = False
            return result
        if name.startswith(_REACHING) and not _is_name(node):
            self._reads(module, node, "whatever objects there are")
        maker, _, method = name.rpartition("()")
        if maker.endswith(_CONTAINERS) and method[1:] in CONTAINERS:
            holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            self.assign(module, [holder] if holder is not None else [], every)
            return self.value(module, holder).whole if holder is not None else every
        if name == "builtins.type" and len(given) == 1:
            return join(
                [every, value_of(*(Named(each.owner.name) for each in every.atoms if isinstance(each, Instance)))]
            )
        if name in _BY_NAME and len(given) > 1 and isinstance(node, ast.Call):
            return self._by_name(module, node, name, given)
        if self._reports and name in JUDGED and every.tree and isinstance(node, ast.Call):
            shown = callees(self.index, module, node.func)  # these calls are read where their names show them
            self._reads(module, node, f"parameters with `{name}`, by another name", unless=name in shown)
        return self._listed(module, node, name, every)

    def _by_name(self, module: Module, node: ast.Call, name: str, given: list[Value]) -> Value:
        """Read or write an attribute whose name is an argument, and which may be any if that is no constant."""
        field = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
        if not isinstance(field, str) or _is_own(field):
            if given[0].atoms & {TREE, UNKNOWN} or join(given[2:]).tree:
                self._reads(module, node, "fields by their names" if field is None else _FIELDS)
            return given[0].whole
        if name != "builtins.getattr":
            self.give(join(given[2:]), "attribute", field)
        return self.of_attribute(given[0], field)

    def _listed(self, module: Module, node: ast.expr, name: str, every: Value) -> Value:
        """Return the result of a listed function; report an unlisted one that is passed a model."""
        role, trees = role_of(name), MODEL if every.tree else NOTHING
        is_result = name == UNKNOWN or "()" in name
        made = value_of(f"{name}()" if not is_result else name if name.startswith("optax.") else UNKNOWN)
        if role in (TELLS, WRITES):
            self._text(module, node, every, told=role == TELLS)
        if role is None:
            if name.startswith(_WALKERS) and every.atoms & {TREE, UNKNOWN}:
                self._reads(module, node, _FIELDS)
            elif every.tree:
                by = f"`{name.replace('builtins.', '')}`, which no table lists"
                self._reads(module, node, f"parameters with {self._not_shown(module, node) if name == UNKNOWN else by}")
            return trees | made
        if role != GIVES:
            return NOTHING
        if not name.startswith("optax."):
            parts = tuple_of(trees, trees) if name == "equinox.partition" else every
            makes = name.startswith(("equinox.nn.", "diffrax.", "jmp.")) or name.endswith(_CONTAINERS)
            return parts | (made if makes and not is_result else NOTHING)
        functions = Value(frozenset(each for each in every.atoms if isinstance(each, Named | ast.Lambda)))
        if functions.atoms:  # a mask, or an update
            self._apply(module, node, functions, [], {}, MODEL)
        if ")." in name:
            return tuple_of(trees, trees) if name.endswith("update") else trees
        return made | trees

    def _wrapped(self, module: Module, node: ast.expr, name: str, given: list[Value], named: dict[str, Value]) -> Value:
        """Return a wrapped function, or the wrapper itself if it has no function yet: `jax.jit(donate_argnums=0)`."""
        if not given:
            return value_of(name)
        if name in GRADIENTS:
            by = "value and gradient" if "value" in name else "gradient"
            return value_of(*(_wrap(by, each) for each in given[0].atoms if each != TREE))
        rest = [*given[1:], *named.values()]
        if not name.endswith((".partial", "Partial")) and not join(rest).tree:
            return given[0]
        self._apply(module, node, given[0].whole, given[1:], named)
        return value_of(*(_wrap("partial", each) for each in given[0].atoms), *({TREE} & join(rest).atoms))

    def _calling(
        self,
        module: Module,
        node: ast.expr,
        name: str,
        given: list[Value],
        others: list[Value],
        places: tuple[int, ...],
    ) -> Value:
        """Return the result of a function that calls some of its arguments with the others, such as `jax.lax.scan`."""
        more = join([*given, *others])
        if len(given) > 2 and name.endswith(("scan", "reduce")):
            carry, at = (given[1], 2) if name.endswith("scan") else (given[2], 1)
            is_shown = isinstance(node, ast.Call) and len(node.args) == len(given)
            data = self.element(module, node.args[at]) if is_shown else given[at].whole  # type: ignore[attr-defined]
            for _ in range(2):
                result = self._apply(module, node, given[0].whole, [carry, data], {})
                carry |= result.part(0, 2) if name.endswith("scan") else result
            return tuple_of(carry, result.part(1, 2)) if name.endswith("scan") else carry
        if given and name.endswith(POSITIONAL):
            result = self._apply(module, node, given[0].whole, given[1:], {}, join(others))
            if not name.endswith(("vjp", "linearize")):
                return result
            return tuple_of(result, value_of(Wrapped("gradient", None)) if more.tree else NOTHING)
        # By keyword any of them may be called.
        functions = [each.whole for at, each in enumerate(given) if at in places] + others
        for _ in range(2):  # what a function returns may be given to it again
            more = join([more, *(self._apply(module, node, each, [], {}, more) for each in functions if each.atoms)])
        return more

    # -- what is reported ---------------------------------------------------------------------------------------------

    def _reads(self, module: Module, node: ast.AST, reads: str, *, unless: bool = False) -> None:
        if self._reports and not unless:
            place = module.place(node)
            self.found.setdefault((place, reads), Watcher(place, reads, rule_of(reads), node))

    def _text(self, module: Module, node: ast.AST, value: Value, *, told: bool = False) -> None:
        """Report a text of a model; one that only a person sees is a note."""
        if value.tree and self._reports:
            around = {each.name for each in ancestors(module, node) if isinstance(each, ast.FunctionDef)}
            is_shown = told or bool(_SHOWS & around) or _is_only_told(module, node)
            self._reads(module, node, SHOWN if is_shown else "the text of a model")

    def evaluated(self, module: Module, node: ast.expr) -> Value:
        value = super().evaluated(module, node)
        match node if self._reports else None:
            case ast.JoinedStr(values=parts):
                inside = [each.value for each in parts if isinstance(each, ast.FormattedValue)]
                self._text(module, node, join([self.value(module, each) for each in inside]))
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                self._text(module, node, self.value(module, right))
            case ast.Attribute(value=holder, attr=attr) if _is_own(attr):
                if self.value(module, holder).atoms & {TREE, UNKNOWN}:
                    self._reads(module, node, _FIELDS)
        return value


def _wrap(by: str, function: Atom) -> Atom:
    """Return a function in another form; a function that has two is left as it is."""
    is_deep = isinstance(function, Wrapped) and isinstance(function.function, Wrapped)
    return function if is_deep else Wrapped(by, function)


def _is_only_told(module: Module, node: ast.AST) -> bool:
    """True if only a person sees a text: it is printed, logged or raised, by itself or in a longer one."""
    for each in (node, *ancestors(module, node)):
        match each:
            case ast.Call(func=function) if _last(function) not in LAST_TELLS | LAST_WRITES:
                if not isinstance(parent_of(module, each), ast.Raise):
                    return False
            case ast.Attribute() | ast.Subscript():
                return False
            case ast.Expr(value=ast.Call(func=function)):
                return _last(function) in LAST_TELLS
            case ast.stmt():
                return isinstance(each, ast.Raise | ast.Assert)
    return False


def _is_own(attribute: str) -> bool:
    """True for what Python's own attributes say of the fields of an object: `model.__dict__`, `model.__reduce__()`."""
    return attribute.startswith("__") and attribute not in _OPEN


def _is_name(node: ast.expr) -> bool:
    """True for `eval("f")`: something under one name, which is not shown."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return isinstance(first, ast.Constant) and str(first.value).isidentifier()


def _last(function: ast.expr) -> str:
    return str(dotted(function) or getattr(function, "attr", "")).rpartition(".")[2]
