"""Stores, uses and patched names of one file by attribute name, from its syntax tree: made once and kept with it."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import by_kind, kept, nodes_in

Function = ast.FunctionDef | ast.AsyncFunctionDef
_CONSTRUCTORS = frozenset("__init__ __new__ __post_init__ __check_init__ __setstate__ setup".split())
_SETTERS = frozenset("setattr delattr __setattr__ __delattr__".split())
# `mock.patch.object(Block, "scale", half)` stores like `setattr(Block, "scale", half)`.
_MOCKS = frozenset({"patch", "multiple", "object"})
_GETTERS = frozenset({"getattr", "attrgetter"})
_COPIERS = frozenset("replace evolve _replace".split())  # `replace(model, **changes)`
_CALLED = _SETTERS | _MOCKS | _GETTERS | _COPIERS
_FINDS_MODULES = ("sys.modules", "import modules", "import_module", "__import__", "getmodule", "globals(")
ANY_MODULE = "*"  # the module that a store goes to if the file may find modules by name


@dataclass(frozen=True, eq=False)
class Store:
    """A store to an attribute, or its deletion, other than that of a constructor to its own object.

    `forced` stores also reach objects of frozen classes: `object.__setattr__(block, "scale", half)`. `node` is None if
    the file cannot be parsed and its text may have the store.
    """

    path: Path
    node: ast.AST | None
    forced: bool


@dataclass(frozen=True, eq=False)
class ByName:
    """The attributes of one file by name.

    `uses` are attributes that are read or stored, keyword arguments, and patterns; `strings` are constants such as
    "scale" and "block.scale". `modules` are stores to attributes of imported modules, as the last name of the module
    with that of the attribute. `loose` are stores whose name is no constant, `loose_reads` such reads. `elements` are
    attributes an element of which is stored into: `layer.weight[0] = 0.0`. `functions` are all of the file,
    `positional` the patterns of classes that take fields by their positions.
    """

    functions: list[Function]
    positional: list[ast.MatchClass]
    stores: dict[str, list[Store]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[str, list[ast.AST]] = field(default_factory=lambda: defaultdict(list))
    strings: dict[str, list[ast.Constant]] = field(default_factory=lambda: defaultdict(list))
    modules: set[tuple[str, str]] = field(default_factory=set)
    loose: list[ast.AST] = field(default_factory=list)
    loose_reads: list[ast.Call] = field(default_factory=list)
    elements: dict[str, list[ast.Attribute]] = field(default_factory=lambda: defaultdict(list))
    _lines: dict[int, list[Function]] = field(default_factory=lambda: defaultdict(list))

    def functions_on(self, line: int) -> list[Function]:
        """Return the functions around a line, the outer ones first."""
        if not self._lines:
            for function in sorted(self.functions, key=lambda each: each.lineno):
                for number in range(function.lineno, (function.end_lineno or function.lineno) + 1):
                    self._lines[number].append(function)
        return self._lines.get(line, [])


def by_name(module: Module) -> ByName:
    """Return the table of a file."""
    return kept(module.tree, "_by_name", lambda: _Reader(module).table)


class _Reader:
    """One pass over the nodes of a file by their kinds, and a second one over its constructors."""

    def __init__(self, module: Module) -> None:
        kinds = by_kind(module.tree)
        functions = [*kinds[ast.FunctionDef], *kinds[ast.AsyncFunctionDef]]
        self.table = ByName(functions, [node for node in kinds[ast.MatchClass] if node.patterns])
        self._path = module.path
        self._own = {id(node) for cls in kinds[ast.ClassDef] for node in _own_stores(cls)}
        # The calls in a `__setattr__` store under the names of stores elsewhere, which count.
        passing = (each for each in functions if each.name in ("__setattr__", "__delattr__"))
        self._passing = {id(node) for node in nodes_in(*passing)}
        self._origins = _origins([*kinds[ast.Import], *kinds[ast.ImportFrom]])
        self._uses(kinds)
        self._stores(kinds)
        if any(map(module.writes, _FINDS_MODULES)):
            self.table.modules.update((ANY_MODULE, name) for name in self.table.stores)

    def _uses(self, kinds: Mapping[type[ast.AST], list[Any]]) -> None:
        for node in kinds[ast.Constant]:
            if node.value.__class__ is str and node.value.replace(".", "_").isidentifier():
                for name in node.value.split("."):
                    self.table.strings[name].append(node)
        uses = [(node.arg, node) for node in kinds[ast.keyword] if node.arg is not None]
        uses += [(name, node) for node in kinds[ast.MatchClass] for name in node.kwd_attrs]
        for name, node in uses:
            self.table.uses[name].append(node)
        for node in kinds[ast.Attribute]:
            self.table.uses[node.attr].append(node)

    def _stores(self, kinds: Mapping[type[ast.AST], list[Any]]) -> None:
        for node in kinds[ast.Attribute]:
            if node.ctx.__class__ is not ast.Load:
                self._store(node.value, node.attr, node, forced=False)
        for node in kinds[ast.Subscript]:
            if node.ctx.__class__ is not ast.Load:
                if isinstance(node.value, ast.Attribute):
                    self.table.elements[node.value.attr].append(node.value)
                if (owner := _fields_of(node.value)) is not None:
                    self._named(owner, node.slice, node)
        for node in kinds[ast.Call]:
            self._call(node)
        mentions = [node for node in (*kinds[ast.Name], *kinds[ast.Attribute]) if _last(node) in _SETTERS]
        called = {id(node.func) for node in kinds[ast.Call]} if mentions else set()
        self.table.loose.extend(node for node in mentions if id(node) not in called)  # `map(setattr, ...)`

    def _call(self, call: ast.Call) -> None:
        function, given = call.func, call.args
        if isinstance(function, ast.Attribute) and function.attr in ("update", "__setitem__"):
            if _fields_of(function.value) is not None:  # `vars(block).update(scale=half)`
                self._named(function.value, None, call)
            return
        called = {_last(function), *self._origins.get(getattr(function, "id", ""), ())} & _CALLED
        if called & _SETTERS:
            self._named(*_setter(call, called), call)
        elif called & _MOCKS:
            holder = _last(function.value) if isinstance(function, ast.Attribute) else "mock"
            names = given[:1] if "patch" in called else given[1:2]
            if holder in ("mock", "mocker", "patch") or any(isinstance(each, ast.Constant) for each in names):
                self._named(*_setter(call, called), call)
        elif called:
            constant = called & _GETTERS and isinstance([None, *given][:3][-1], ast.Constant)
            spread = any(each.arg is None for each in call.keywords)
            if not constant if called & _GETTERS else spread:
                self.table.loose_reads.append(call)

    def _named(self, owner: ast.expr, key: ast.expr | None, node: ast.AST) -> None:
        """A store whose name is the value of `key`; a dotted one is the path of a module and an attribute."""
        match key:
            case ast.Constant(value=str(name)):
                path, _, name = name.rpartition(".")
                self._store(owner, name, node, forced=True)
                if path:
                    self.table.modules.add((path.rpartition(".")[2], name))
            case ast.Constant():
                pass
            case _ if id(node) not in self._own | self._passing:
                self.table.loose.append(node)

    def _store(self, owner: ast.expr, name: str, node: ast.AST, *, forced: bool) -> None:
        if id(node) not in self._own:
            self.table.stores[name].append(Store(self._path, node, forced))
            self.table.modules.update((holder, name) for holder in self._holders(owner))

    def _holders(self, owner: ast.expr) -> Iterable[str]:
        """The last names of the modules that a dotted name may stand for."""
        above, root = owner, owner
        while isinstance(root, ast.Attribute):
            root = root.value
        origins = self._origins.get(root.id, set()) if isinstance(root, ast.Name) else set()
        return {above.attr} if origins and isinstance(above, ast.Attribute) else origins


def _origins(imports: Iterable[ast.Import | ast.ImportFrom]) -> dict[str, set[str]]:
    """Return the last names of what each name is imported from, wherever the import is."""
    found = {"__builtins__": {"builtins"}}
    for alias in (alias for each in imports for alias in each.names):
        local = alias.asname or alias.name.partition(".")[0]
        found.setdefault(local, set()).add((alias.name if alias.asname else local).rpartition(".")[2])
    return found


def _setter(call: ast.Call, called: set[str]) -> tuple[ast.expr, ast.expr | None]:
    """The object that a call stores into, and the expression for the name: `setattr(block, "scale", half)`.

    A text in the place of the object is the path of both. No expression if the call may name several.
    """
    match call.func, call.args:
        case function, [ast.Constant() as path, *_]:
            return function, path
        case (ast.Attribute(owner, "__setattr__"), [key, _]) | (ast.Attribute(owner, "__delattr__"), [key]):
            return owner, key
        case _, [owner, key, *_] if "patch" not in called:
            return owner, key
        case function, _:
            return function, None


def _own_stores(cls: ast.ClassDef) -> Iterator[ast.AST]:
    """The nodes by which the constructors of a class, and the methods that these mention, store to their own object."""
    methods = {each.name: each for each in cls.body if isinstance(each, ast.FunctionDef)}
    building = [name for name in methods if name in _CONSTRUCTORS]
    for name in building:
        arguments = [*methods[name].args.posonlyargs, *methods[name].args.args]
        for node in _of_object(methods[name], arguments[0].arg) if arguments else ():
            yield node
            if isinstance(node, ast.Attribute) and node.attr in methods and node.attr not in building:
                building.append(node.attr)


def _of_object(function: ast.FunctionDef, own: str) -> list[ast.AST]:
    """Return the attributes, subscripts and calls in a function that are about the object named `own`.

    Empty if anything in the function binds the name again, as a method of a class in it does.
    """
    nodes = nodes_in(*function.body)
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) if name == own:
                return []
    return [node for node in nodes if getattr(_object_of(node), "id", None) == own]


def _object_of(node: ast.AST) -> ast.expr | None:
    """The object into which a node may store."""
    match node:
        case ast.Subscript(value=fields) | ast.Call(func=ast.Attribute(value=fields)) if owner := _fields_of(fields):
            return owner
        case ast.Attribute(value=owner) | ast.Call(args=[owner, *_]):
            return owner
        case _:
            return None


def _fields_of(node: ast.expr) -> ast.expr | None:
    """The object whose fields `vars(x)` or `x.__dict__` holds; `globals()` itself, which holds those of a module."""
    match node:
        case ast.Attribute(value=owner, attr="__dict__") | ast.Call(func=ast.Name("vars"), args=[owner]):
            return owner
        case ast.Call(func=ast.Name("vars" | "globals" | "locals")) | ast.Name("__builtins__"):
            return node
        case _:
            return None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
