"""Follow models through a project, to calls of what is not on the closed list.

flow ─> code ─> values
"""

import ast
from collections.abc import Collection, Iterable, Iterator

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.readers import Reader
from scanify.analysis.watchers.code import Code
from scanify.analysis.watchers.library import (
    CONTAINERS,
    GIVES,
    GRADIENTS,
    JUDGED,
    LAST_TELLS,
    LAST_WRITES,
    TELLS,
    WRAPPERS,
    WRITES,
    called_arguments,
    role_of,
)
from scanify.analysis.watchers.names import callees
from scanify.analysis.watchers.sharding import PLACING, SHARDED, names_axes
from scanify.analysis.watchers.values import (
    CONTAINER,
    MAKER,
    MODEL,
    NOTHING,
    OBJECT,
    PARTIAL,
    SUPER,
    TREE,
    UNKNOWN,
    VALUED,
    Atom,
    Named,
    Value,
    atoms_of,
    holds_tree,
    join,
    part,
    tuple_of,
    value_of,
    whole,
)

_FIELDS = "what the fields of an object hold"
SHOWN, _TEXT = "a text of a model that is shown", "the text of a model"
_WALKERS = ("builtins.vars", "builtins.dir", "dataclasses.", "inspect.", "typing.", "operator.attrgetter")
_FIELD = ("equinox.field", "dataclasses.field", "equinox.static_field")
_BY_NAME = frozenset(f"builtins.{name}" for name in "getattr setattr delattr object.__setattr__".split())
_REACHING = ("gc.get_", "builtins.eval", "builtins.exec", "builtins.locals", "builtins.globals", "sys._getframe")
_MAKE_CONTAINERS = tuple("builtins.list builtins.dict builtins.set .deque .OrderedDict .defaultdict".split())
_OPEN = frozenset("__class__ __call__ __init__ __name__ __doc__ __module__ __qualname__ __eq__ __post_init__".split())
_SHOWS = frozenset({"__repr__", "__str__", "__format__", "__tree_pp__"})


class Flow(Code):
    """Follows models through a project. `found` has the calls that are passed one and are not on the closed list."""

    def __init__(self, index: Index, models: Collection[Definition], lists: Collection[str]) -> None:
        self.found: dict[tuple[object, ...], Reader] = {}
        self._called: set[str] = set()  # names of functions that code of the project calls
        self._calls: dict[tuple[object, ...], int] = {}  # how many functions were passed these arguments
        self._lists = lists
        self._reports = False
        super().__init__(index, models, lists)

    def follow(self) -> list[Reader]:
        """Return the calls that are passed a model and are not shown to treat each number alike."""
        self.settle()
        self._from_outside()
        self.settle()
        self._reports = True
        for node, module in [*self.units.items()] if self.complete else ():
            self.run(module, node)
        return list(self.found.values())

    def _from_outside(self) -> None:
        """Pass arguments to the functions that no code of the project calls: other code calls them.

        A parameter holds a model if a variable of its name does elsewhere, if it is called, or if its list is read; and
        if an operator or a statement may pass one: `model | report` calls `__ror__`.
        """
        free = [each for each in self.units if isinstance(each, FUNCTIONS) and each.name not in self._called]
        trees = {str(key[-1]) for key, value in self.values.items() if key[0] == "name" and holds_tree(value)}
        trees = {name for name in trees if len(name) > 1}.union(*map(self._used_as_models, free))
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
        return self._apply(module, decorator, self.value(module, decorator), [value])

    def _apply(
        self,
        module: Module,
        node: ast.expr,
        function: Value,
        given: Iterable[Value] = (),
        named: dict[str, Value] | None = None,
        more: Value = NOTHING,
    ) -> Value:
        """Return the result of a call, joined over everything that may be called."""
        given, named, atoms = list(given), named or {}, atoms_of(function)
        if PARTIAL in atoms:
            given, named, more = [], {}, join([*given, *named.values(), more])
        found = NOTHING
        for atom in atoms - {TREE, CONTAINER, PARTIAL, MAKER, VALUED}:
            if isinstance(atom, str) and atom != OBJECT:
                found |= self._library(module, node, atom, given, named, more)
            else:
                found |= self._of_project(module, node, atom, given, named, more)
        every = join([*given, *named.values(), more])
        if not atoms and isinstance(node, ast.Call) and holds_tree(every):
            self._reads(module, node, f"parameters with {self._not_shown(module, node)}")
            return MODEL
        found |= tuple_of(found, MODEL) if VALUED in atoms else NOTHING
        return found | MODEL if MAKER in atoms else found

    def _not_shown(self, module: Module, node: ast.expr) -> str:
        text = " ".join(module.code(node.func if isinstance(node, ast.Call) else node).split())
        return f"`{text if len(text) <= 50 else f'{text[:47]}...'}`, which is not shown"

    def _of_project(
        self, module: Module, node: ast.expr, atom: Atom, given: list[Value], named: dict[str, Value], more: Value
    ) -> Value:
        """Return the result of a lambda, of all functions and classes of a name, or of calling any object."""
        self.steps += 1
        if isinstance(atom, ast.Lambda):
            return self.bind(module, atom, given, named, more)
        name = atom.name if isinstance(atom, Named) else "__call__"
        several, found = self.definitions.get(name, []), self.read("result", name)
        self._called.add(name)
        call = (name, tuple(given), tuple(named.items()), more)
        for where, each in several[self._calls.get(call, 0) :]:
            passed = self._constructed if isinstance(each, ast.ClassDef) else self.bind
            passed(where, each, given, named, more)
        self._calls[call] = len(several)
        is_tree = holds_tree(join([*given, *named.values(), more]))
        for where, owner in several:
            if isinstance(owner, ast.ClassDef):
                made = self.object_of(where, owner)
                found |= made | (MODEL if is_tree else NOTHING)
                if is_tree and UNKNOWN in atoms_of(made):
                    self._reads(module, node, f"parameters with {self._not_shown(module, node)}")
        return found

    def _constructed(
        self, module: Module, node: ast.AST, given: list[Value], named: dict[str, Value], more: Value
    ) -> None:
        """Call the constructor of a class of the project; one that is made for its fields stores its arguments."""
        assert isinstance(node, ast.ClassDef)
        owner = Definition(module, node.name, node)
        method = self.classes.method(owner, "__init__")
        if method is not None:
            self._called.add("__init__")
            self.bind(method[0].module, method[1], given, named, more)
            return
        names = [*self.classes.fields(owner)]
        for name, value in (*zip(names, given, strict=False), *named.items(), *((each, more) for each in names)):
            self.give(whole(value), "attribute", name)

    # -- functions of libraries ---------------------------------------------------------------------------------------

    def _library(
        self, module: Module, node: ast.expr, name: str, given: list[Value], named: dict[str, Value], more: Value
    ) -> Value:
        others = [*named.values(), more]
        every = join([*given, *others])
        if name in GRADIENTS | WRAPPERS:
            return self._wrapped(module, node, name, given, join(others)) if given else value_of(name)
        if places := called_arguments(name):
            functions = join([*(each for at, each in enumerate(given) if at in places), *others])
            return self._calling(module, node, name, given, functions, every)
        if name.startswith(_REACHING) and not _is_name(node):
            self._reads(module, node, "whatever objects there are")
        maker, _, method = name.rpartition("()")
        if maker.endswith(_MAKE_CONTAINERS) and method[1:] in CONTAINERS:
            holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            self.assign(module, [holder] if holder is not None else [], every)
            return whole(self.value(module, holder)) if holder is not None else every
        if name in _FIELD:
            return join(value for key, value in named.items() if key in ("default", "default_factory"))
        if name == "builtins.super":
            owner = next((each for each in ancestors(module, node) if isinstance(each, ast.ClassDef)), None)
            return value_of(SUPER) | (self.object_of(module, owner) if owner is not None else NOTHING)
        if name == "builtins.type" and len(given) == 1:
            return every | value_of(MAKER)
        if name in _BY_NAME and len(given) > 1 and isinstance(node, ast.Call):
            return self._by_name(module, node, name, given)
        is_judged = name in JUDGED and holds_tree(every)
        if is_judged and isinstance(node, ast.Call) and name not in callees(self.index, module, node.func):
            # `find` reads those that are shown
            self._reads(module, node, f"parameters with `{name}`, by another name")
        return self._listed(module, node, name, every)

    def _wrapped(self, module: Module, node: ast.expr, name: str, given: list[Value], others: Value) -> Value:
        """Return a function in another form: its gradient, or with some of its arguments."""
        if name in GRADIENTS:
            return whole(given[0]) | value_of(VALUED if "value" in name else MAKER)
        rest = join([*given[1:], others])
        if atoms_of(given[0]) & PLACING and isinstance(node, ast.Call) and names_axes(module, node):
            self._reads(module, node, SHARDED)
        if not name.endswith((".partial", "Partial")) and not holds_tree(rest):
            return given[0]
        self._apply(module, node, whole(given[0]), more=rest)
        return whole(given[0]) | value_of(PARTIAL, *({TREE} & atoms_of(rest)))

    def _calling(
        self, module: Module, node: ast.expr, name: str, given: list[Value], functions: Value, every: Value
    ) -> Value:
        """Return the result of a function that calls some of its arguments with the others, such as `jax.lax.scan`."""
        if name.endswith("scan") and len(given) > 2:
            first, carry, data = given[:3]
            carry |= part(self._apply_all(module, node, first, [carry, data]), 0)
            return tuple_of(carry) | self._apply_all(module, node, first, [carry, data])
        found = self._apply_all(module, node, functions, more=every)
        if name.endswith(("vjp", "linearize")):
            return tuple_of(found, value_of(MAKER))
        return found | every

    def _apply_all(
        self, module: Module, node: ast.expr, functions: Value, given: Iterable[Value] = (), more: Value = NOTHING
    ) -> Value:
        """Return the result of a call by a function of a library, which may not call another such function."""
        nested = {atom for atom in atoms_of(functions) if isinstance(atom, str) and called_arguments(atom)}
        if holds_tree(join([*given, more])):
            for atom in nested:  # such functions may call one another for ever
                self._reads(module, node, f"parameters with `{atom}` in another such call")
        plain = frozenset(each for each in whole(functions) if each[1] not in nested)
        return self._apply(module, node, plain, given, more=more) if plain else NOTHING

    def _by_name(self, module: Module, node: ast.Call, name: str, given: list[Value]) -> Value:
        """Read or write an attribute whose name is an argument, and which may be any if that is no constant."""
        field = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
        if not isinstance(field, str) or _is_own(field):
            if _may_be_tree(given[0]) or holds_tree(join(given[2:])):
                self._reads(module, node, "fields by their names" if field is None else _FIELDS)
            return whole(given[0])
        if name != "builtins.getattr":
            self.give(join(given[2:]), "attribute", field)
        return self.of_attribute(given[0], field)

    def _listed(self, module: Module, node: ast.expr, name: str, every: Value) -> Value:
        """Return the result of a listed function; report an unlisted one that is passed a model."""
        role, trees = role_of(name), MODEL if holds_tree(every) else NOTHING
        is_result = name == UNKNOWN or "()" in name
        made = value_of(f"{name}()" if not is_result else name if name.startswith("optax.") else UNKNOWN)
        if role in (TELLS, WRITES):
            self._text(module, node, every)
        if trees and name in PLACING and isinstance(node, ast.Call) and names_axes(module, node):
            self._reads(module, node, SHARDED)
        if role is None:
            if name.startswith(_WALKERS) and _may_be_tree(every):
                self._reads(module, node, _FIELDS)
            elif trees:
                by = f"`{name.replace('builtins.', '')}`, which no table lists"
                self._reads(module, node, f"parameters with {self._not_shown(module, node) if name == UNKNOWN else by}")
            return trees | (made if name.startswith(_WALKERS) else value_of(UNKNOWN))
        if role != GIVES:
            return NOTHING
        if not name.startswith("optax."):
            makes = name.startswith(("equinox.nn.", "diffrax.", "jmp.")) or name.endswith(_MAKE_CONTAINERS)
            return every | (made if makes and not is_result else NOTHING)
        functions = frozenset(each for each in every if isinstance(each[1], Named | ast.Lambda))
        if functions:  # a mask, or an update
            self._apply(module, node, functions, more=MODEL)
        if ")." in name:
            return tuple_of(trees, trees) if name.endswith("update") else trees
        return made | trees

    # -- what is reported ---------------------------------------------------------------------------------------------

    def _reads(self, module: Module, node: ast.AST, reads: str) -> None:
        if self._reports:
            place = module.place(node)
            self.found.setdefault((place, reads), Reader(place, reads))

    def _text(self, module: Module, node: ast.AST, value: Value) -> None:
        """Report a text of a model; one that only a person sees is a note."""
        if self._reports and holds_tree(value):
            around = {each.name for each in ancestors(module, node) if isinstance(each, ast.FunctionDef)}
            is_shown = bool(_SHOWS & around) or _is_only_told(module, node)
            self._reads(module, node, SHOWN if is_shown else _TEXT)

    def evaluated(self, module: Module, node: ast.expr) -> Value:
        value = super().evaluated(module, node)
        match node if self._reports else None:
            case ast.JoinedStr(values=parts):
                inside = [each.value for each in parts if isinstance(each, ast.FormattedValue)]
                self._text(module, node, join([self.value(module, each) for each in inside]))
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                self._text(module, node, self.value(module, right))
            case ast.Attribute(value=holder, attr=attr) if _is_own(attr) and _may_be_tree(self.value(module, holder)):
                self._reads(module, node, _FIELDS)
        return value


def _may_be_tree(value: Value) -> bool:
    """True for a model, and for what the source does not show."""
    return not atoms_of(value).isdisjoint({TREE, UNKNOWN})


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
