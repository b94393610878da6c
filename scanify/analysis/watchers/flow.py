"""Follow models through a project, to calls of functions that are not on the closed list.

flow ─> code ─> values
"""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors
from scanify.analysis.readers import Reader
from scanify.analysis.watchers.code import Code
from scanify.analysis.watchers.library import GRADIENTS, JUDGED, WRAPPERS, called_arguments, gives
from scanify.analysis.watchers.names import callees
from scanify.analysis.watchers.sharding import PLACING, SHARDED, names_axes
from scanify.analysis.watchers.values import (
    CONTAINER,
    KNOWN,
    MAKER,
    MODEL,
    NOTHING,
    OBJECT,
    PARTIAL,
    TREE,
    UNKNOWN,
    VALUED,
    Arguments,
    Atom,
    Named,
    Value,
    atoms_of,
    holds_tree,
    join,
    part,
    tuple_of,
    value_of,
)

_FIELDS, _TEXT = "what the fields of an object hold", "the text of a model"
_WALKERS = ("builtins.vars", "builtins.dir", "dataclasses.", "inspect.", "typing.", "operator.attrgetter")
_TELL = ("builtins.print", "builtins.str", "builtins.repr", "builtins.format", "logging.", "equinox.tree_pformat")
_FIELD = ("equinox.field", "dataclasses.field", "equinox.static_field")
_BY_NAME = frozenset(f"builtins.{name}" for name in "getattr setattr delattr object.__setattr__".split())
_REACHING = ("gc.get_", "builtins.eval", "builtins.exec", "builtins.locals", "builtins.globals", "sys._getframe")
_MAKE_CONTAINERS = tuple("builtins.list builtins.dict builtins.set .deque .OrderedDict .defaultdict".split())
_MAKE_KNOWN = ("optax.", "equinox.nn.", "diffrax.", "jmp.")
_SORT = "builtins.sorted"  # like methods of containers, it calls functions passed by name
_OPEN = frozenset("__class__ __call__ __init__ __name__ __doc__ __module__ __qualname__ __eq__ __post_init__".split())


class Flow(Code):
    """Follows models through a project. `found` has the unlisted calls that are passed a model."""

    def __init__(self, index: Index, models: Collection[Definition], lists: Collection[str]) -> None:
        self.found: dict[tuple[object, ...], Reader] = {}
        self._called: set[str] = set()  # names of functions that the project calls
        self._calls: dict[tuple[str, Arguments], int] = {}  # number of functions already called with these arguments
        self._lists = lists
        self._reports = False
        super().__init__(index, models, lists)

    def follow(self) -> list[Reader]:
        """Return the calls that are passed a model and are not known to treat each number alike."""
        self.settle()
        self._from_outside()
        self.settle()
        self._reports = True
        for node, module in [*self.units.items()] if self.complete else ():
            self.run(module, node)
        return list(self.found.values())

    def _from_outside(self) -> None:
        """Pass arguments to functions that the project never calls: other code may call them.

        A parameter may hold a model if a variable of its name does elsewhere, if it is called, if its list is read, or
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

    def called(self, module: Module, node: ast.expr, function: ast.expr, passed: Arguments) -> Value:
        every, atoms = passed.every, atoms_of(self.value(module, function))
        holder = function.value if isinstance(function, ast.Attribute) else None
        names = [*dict.fromkeys(callees(self.index, module, function))]
        is_library = bool(names) and all(isinstance(each, str) for each in names)
        found = NOTHING
        for name in names:
            found |= self._library(module, node, name, passed) if isinstance(name, str) else NOTHING
        if is_library:
            atoms -= {KNOWN, UNKNOWN, MAKER, VALUED}
        elif holder is not None and CONTAINER in atoms_of(self.value(module, holder)):
            self.assign(module, [holder], every)  # `found.append(model)`
            found |= self._passed_on(module, node, _SORT, replace(passed, more=join([self.value(module, holder)])))
            found |= join([self.value(module, holder), every])
            atoms.add(CONTAINER)
        if not is_library and (UNKNOWN in atoms or not atoms):
            self._reads_tree(module, node, every, f"parameters with {_not_shown(module, function)}")
            found |= value_of(*({UNKNOWN} & atoms), *({TREE} & atoms_of(every)))
        for atom in atoms:
            if isinstance(atom, Named | ast.Lambda) or atom == OBJECT:
                found |= self._of_project(module, node, atom, Arguments(more=every) if PARTIAL in atoms else passed)
        found |= every | value_of(KNOWN) if KNOWN in atoms else NOTHING
        if makes := {MAKER, VALUED} & atoms:
            functions = _functions(every)
            found |= functions | value_of(*(makes if functions else ()))
            found |= tuple_of(found, MODEL) if VALUED in atoms else MODEL
        return found

    def _of_project(self, module: Module, node: ast.expr, atom: Atom, passed: Arguments) -> Value:
        """Return the result of a lambda, of all functions and classes of a name, or of calling any object."""
        self.steps += 1
        if isinstance(atom, ast.Lambda):
            return self.bind(module, atom, passed)
        name = atom.name if isinstance(atom, Named) else "__call__"
        several, found = self.definitions.get(name, []), self.read("result", name)
        self._called.add(name)
        for where, each in several[self._calls.get((name, passed), 0) :]:
            bind = self._constructed if isinstance(each, ast.ClassDef) else self.bind
            bind(where, each, passed)
        self._calls[name, passed] = len(several)
        for where, owner in several:
            if isinstance(owner, ast.ClassDef):
                made = self.object_of(where, owner)
                found |= made | (MODEL if holds_tree(passed.every) else NOTHING)
                if UNKNOWN in atoms_of(made):
                    self._reads_tree(module, node, passed.every, f"parameters with {_not_shown(module, node)}")
        return found

    def _constructed(self, module: Module, node: ast.AST, passed: Arguments) -> None:
        """Call the constructor of a class of the project; a generated one stores its arguments in the fields."""
        assert isinstance(node, ast.ClassDef)
        owner = Definition(module, node.name, node)
        method = self.classes.method(owner, "__init__")
        if method is not None:
            self._called.add("__init__")
            self.bind(method[0].module, method[1], passed)
            return
        names = [*self.classes.fields(owner)]
        pairs = [*zip(names, passed.given, strict=False), *passed.named, *((each, passed.more) for each in names)]
        for name, value in pairs:
            self.give(join([value]), "attribute", name)

    def _library(self, module: Module, node: ast.expr, name: str, passed: Arguments) -> Value:
        """Return the result of a library function; report an unlisted one that is passed a model."""
        every = passed.every
        trees = MODEL if holds_tree(every) else NOTHING
        if name.startswith(_REACHING) and not _is_name(node):
            self._reads(module, node, "whatever objects there are")
        if name in _FIELD:
            return join(value for key, value in passed.named if key in ("default", "default_factory"))
        if name == "builtins.super":
            owner = next((each for each in ancestors(module, node) if isinstance(each, ast.ClassDef)), None)
            return value_of(KNOWN) | (self.object_of(module, owner) if owner is not None else NOTHING)
        if name in _BY_NAME and isinstance(node, ast.Call) and len(passed.given) > 1:
            return self._by_name(module, node, name, passed.given)
        role = gives(name)
        if role is None and name.startswith(_WALKERS):
            if _may_be_tree(every):
                self._reads(module, node, _FIELDS)
            return value_of(UNKNOWN) | trees
        if name.startswith(_TELL):
            self._reads_tree(module, node, every, _TEXT)
            return NOTHING
        is_partial = name.endswith(("partial", "Partial"))
        if isinstance(node, ast.Call) and names_axes(module, node):
            placed = callees(self.index, module, node.args[0]) if is_partial and node.args else (name,)
            self._reads_tree(module, node, MODEL if is_partial else every, SHARDED if PLACING & {*placed} else "")
        found = self._passed_on(module, node, name, passed)
        if is_partial:
            return every | value_of(PARTIAL)
        if name in WRAPPERS or name in GRADIENTS:
            form = value_of(*([GRADIENTS[name]] if name in GRADIENTS else []))
            return (passed.at([0]) if not passed.given else join([passed.given[0], passed.more])) | form | trees
        if called_arguments(name):
            return found | (every if not name.endswith(".scan") else tuple_of(*passed.given[1:2]))
        if role is None:
            text = f"parameters with `{name.replace('builtins.', '')}`, which no table lists"
            self._reads_tree(module, node, every, text)
            return trees | value_of(UNKNOWN)
        made = CONTAINER if name.endswith(_MAKE_CONTAINERS) else KNOWN if name.startswith(_MAKE_KNOWN) else None
        return every | value_of(*([made] if made else [])) if role else NOTHING

    def _passed_on(self, module: Module, node: ast.expr, name: str, passed: Arguments) -> Value:
        """Return the results of callables passed to a library function, which may pass them its other arguments."""
        every, places = passed.every, called_arguments(name)
        functions = _functions(every)
        if places:
            several = passed.at(places)
            functions |= frozenset(each for each in several if each[1] == OBJECT)
            if UNKNOWN in atoms_of(several):
                text = f"parameters with what `{name}` calls, which is not shown"
                self._reads_tree(module, node, every, text)
        found, rest = NOTHING, Arguments(more=MODEL if name.startswith("optax.") else every - functions)
        for atom in atoms_of(functions) if name not in JUDGED else ():
            if name.endswith(".scan") and len(passed.given) > 2:
                _, carry, data, *_ = passed.given
                carry |= part(self._of_project(module, node, atom, Arguments((carry, data))), 0)
                rest = Arguments((carry, data))
            found |= self._of_project(module, node, atom, rest)
        return found

    def _by_name(self, module: Module, node: ast.Call, name: str, given: Sequence[Value]) -> Value:
        """Read or write an attribute whose name is an argument; a name that is not constant may be any attribute."""
        field = node.args[1].value if isinstance(node.args[1], ast.Constant) else None
        if not isinstance(field, str) or _is_own(field):
            is_library = None not in callees(self.index, module, node.args[0])  # `getattr(jax.nn, name)`
            if (_may_be_tree(given[0]) and not is_library) or holds_tree(join(given[2:])):
                self._reads(module, node, "fields by their names" if field is None else _FIELDS)
            return join([given[0]])
        if name != "builtins.getattr":
            self.give(join(given[2:]), "attribute", field)
        return self.of_attribute(given[0], field)

    # -- reports ------------------------------------------------------------------------------------------------------

    def _reads(self, module: Module, node: ast.AST, reads: str) -> None:
        if self._reports:
            place = module.place(node)
            self.found.setdefault((place, reads), Reader(place, reads))

    def _reads_tree(self, module: Module, node: ast.AST, value: Value, reads: str) -> None:
        if reads and holds_tree(value):
            self._reads(module, node, reads)

    def evaluated(self, module: Module, node: ast.expr) -> Value:
        value = super().evaluated(module, node)
        parts: Iterable[ast.expr] = ()
        match node if self._reports else None:
            case ast.JoinedStr(values=values):
                parts = [each.value for each in values if isinstance(each, ast.FormattedValue)]
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=right):
                parts = [right]
            case ast.Attribute(value=holder, attr=attr) if _is_own(attr) and _may_be_tree(self.value(module, holder)):
                self._reads(module, node, _FIELDS)
        self._reads_tree(module, node, join(self.value(module, each) for each in parts), _TEXT)
        return value


def _functions(value: Value) -> Value:
    return frozenset(each for each in value if isinstance(each[1], Named | ast.Lambda))


def _may_be_tree(value: Value) -> bool:
    """True for a model, and for a value that the source does not show."""
    return not atoms_of(value).isdisjoint({TREE, UNKNOWN})


def _not_shown(module: Module, node: ast.expr) -> str:
    text = " ".join(module.code(node).split())
    return f"`{text if len(text) <= 50 else f'{text[:47]}...'}`, which is not shown"


def _is_own(attribute: str) -> bool:
    """True for a special attribute through which Python shows fields: `model.__dict__`, `model.__reduce__()`."""
    return attribute.startswith("__") and attribute not in _OPEN


def _is_name(node: ast.expr) -> bool:
    """True for `eval("f")`, which looks up a single name."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return isinstance(first, ast.Constant) and str(first.value).isidentifier()
