"""Stores, uses and patched names of one file by attribute name, built from its syntax tree once and cached with it."""

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
_MOCKS = frozenset({"patch", "mock", "mocker"})  # `mock.patch.object(Block, "scale", half)`
_OF_DICTS = frozenset("update __setitem__ setdefault pop clear".split())
_GETTERS = frozenset({"getattr", "attrgetter"})
_COPIERS = frozenset("replace evolve _replace".split())  # `replace(model, **changes)`
_FINDS_MODULES = ("sys.modules", "import modules", "import_module", "__import__", "getmodule", "globals(")
ANY_MODULE = "*"  # the module of a store in a file that may find modules by name


@dataclass(frozen=True, eq=False)
class Store:
    """A store to an attribute, or its deletion, except by a constructor to its own object.

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
    "scale" and "block.scale". `modules` are stores to attributes of imported modules, as pairs of the last names of
    module and attribute. `loose` are operations that may store to any attribute that a string of the file names, such
    as `setattr`; `loose_reads` are reads of attributes by a name that is not constant. `elements` are attributes with a
    store to an element: `layer.weight[0] = 0.0`. `imported` are the last names of the file's imports, `functions` all
    functions of the file, `positional` the class patterns that match fields by position.
    """

    functions: list[Function]
    positional: list[ast.MatchClass]
    imported: frozenset[str]
    stores: dict[str, list[Store]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[str, list[ast.AST]] = field(default_factory=lambda: defaultdict(list))
    strings: dict[str, list[ast.Constant]] = field(default_factory=lambda: defaultdict(list))
    modules: set[tuple[str, str]] = field(default_factory=set)
    loose: list[ast.AST] = field(default_factory=list)
    loose_reads: list[ast.Call] = field(default_factory=list)
    elements: dict[str, list[ast.Attribute]] = field(default_factory=lambda: defaultdict(list))
    _lines: dict[int, list[Function]] = field(default_factory=lambda: defaultdict(list))

    def functions_on(self, line: int) -> list[Function]:
        """Return the functions around a line, outermost first."""
        if not self._lines:
            for function in sorted(self.functions, key=lambda each: each.lineno):
                for number in range(function.lineno, (function.end_lineno or function.lineno) + 1):
                    self._lines[number].append(function)
        return self._lines.get(line, [])


def by_name(module: Module) -> ByName:
    """Return the table of a file."""
    return kept(module.tree, "_by_name", lambda: _Reader(module).table)


class _Reader:
    """One pass over the nodes of a file by kind, and one over its constructors."""

    def __init__(self, module: Module) -> None:
        kinds = by_kind(module.tree)
        functions = [*kinds[ast.FunctionDef], *kinds[ast.AsyncFunctionDef]]
        self._origins = _origins([*kinds[ast.Import], *kinds[ast.ImportFrom]])
        imported = frozenset(name for names in self._origins.values() for name in names)
        self.table = ByName(functions, [node for node in kinds[ast.MatchClass] if node.patterns], imported)
        self._path = module.path
        self._own = {id(node) for cls in kinds[ast.ClassDef] for node in _own_stores(cls)}
        # Stores inside a `__setattr__` use the names of stores elsewhere, which are counted there.
        passing = (each for each in functions if each.name in ("__setattr__", "__delattr__"))
        self._passing = {id(node) for node in nodes_in(*passing)}
        self._uses(kinds)
        self._stores(kinds)
        if any(map(module.writes, _FINDS_MODULES)):
            names = {*self.table.stores, *(self.table.strings if self.table.loose else ())}
            self.table.modules.update((ANY_MODULE, name) for name in names)

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
            if node.ctx.__class__ is not ast.Load and id(node) not in self._own:
                self.table.stores[node.attr].append(Store(self._path, node, False))
                self.table.modules.update((holder, node.attr) for holder in self._holders(node.value))
        setters = _SETTERS.union(name for name, origins in self._origins.items() if origins & _SETTERS)
        loose: list[ast.AST] = [each for each in kinds[ast.Name] if each.id in setters]
        loose += [each for each in kinds[ast.Attribute] if each.attr in _SETTERS]
        for node in kinds[ast.Subscript]:
            if node.ctx.__class__ is not ast.Load:
                if isinstance(node.value, ast.Attribute):
                    self.table.elements[node.value.attr].append(node.value)
                loose += [node] if _fields_of(node.value) is not None else []
        for node in kinds[ast.Call]:
            parts = _parts(node.func)
            names = {parts[-1], *self._origins.get(".".join(parts), ())}
            of_fields = parts[-1] in _OF_DICTS and _fields_of(getattr(node.func, "value", node.func)) is not None
            if of_fields or _MOCKS & {*parts[:-1], *self._origins.get(parts[0], ())}:
                loose.append(node)  # `vars(block).update(scale=half)`, `mock.patch("blocks.Block.scale")`
                continue
            constant = names & _GETTERS and isinstance([None, *node.args][:3][-1], ast.Constant)
            spread = names & _COPIERS and any(each.arg is None for each in node.keywords)
            if spread or (names & _GETTERS and not constant):
                self.table.loose_reads.append(node)
        self.table.loose.extend(each for each in loose if id(each) not in self._own | self._passing)

    def _holders(self, owner: ast.expr) -> Iterable[str]:
        """Return the last names of the modules that a dotted name may refer to."""
        parts = _parts(owner)
        origins = self._origins.get(parts[0], set())
        return parts[-1:] if origins and len(parts) > 1 else origins


def _origins(imports: Iterable[ast.Import | ast.ImportFrom]) -> dict[str, set[str]]:
    """Return the last names of the origins of each imported name, wherever the import is."""
    found = {"__builtins__": {"builtins"}}
    for alias in (alias for each in imports for alias in each.names):
        local = alias.asname or alias.name.partition(".")[0]
        found.setdefault(local, set()).add((alias.name if alias.asname else local).rpartition(".")[2])
    return found


def _own_stores(cls: ast.ClassDef) -> Iterator[ast.AST]:
    """Yield the nodes by which constructors, and methods that they mention, store to their own object."""
    methods = {each.name: each for each in cls.body if isinstance(each, ast.FunctionDef)}
    building = [name for name in methods if name in _CONSTRUCTORS]
    for name in building:
        arguments = [*methods[name].args.posonlyargs, *methods[name].args.args]
        for node in _of_object(methods[name], arguments[0].arg) if arguments else ():
            yield from (node, node.func) if isinstance(node, ast.Call) else (node,)
            if isinstance(node, ast.Attribute) and node.attr in methods and node.attr not in building:
                building.append(node.attr)


def _of_object(function: ast.FunctionDef, own: str) -> list[ast.AST]:
    """Return the attributes, subscripts and calls in a function that concern the object named `own`.

    Empty if anything in the function rebinds the name, as a method of a nested class does.
    """
    nodes = nodes_in(*function.body)
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) if name == own:
                return []
    return [node for node in nodes if getattr(_object_of(node), "id", None) == own]


def _object_of(node: ast.AST) -> ast.expr | None:
    """Return the object that a node may store into."""
    match node:
        case ast.Subscript(value=fields) | ast.Call(func=ast.Attribute(value=fields)) if owner := _fields_of(fields):
            return owner
        case ast.Attribute(value=owner) | ast.Call(args=[owner, *_]):
            return owner
        case _:
            return None


def _fields_of(node: ast.expr) -> ast.expr | None:
    """Return the object whose fields `vars(x)` or `x.__dict__` holds; for `globals()`, the call itself."""
    match node:
        case ast.Attribute(value=owner, attr="__dict__") | ast.Call(func=ast.Name("vars"), args=[owner]):
            return owner
        case ast.Call(func=ast.Name("vars" | "globals" | "locals")) | ast.Name("__builtins__"):
            return node
        case _:
            return None


def _parts(node: ast.expr) -> list[str]:
    """Return the parts of a dotted name; the first is "" if it starts with another expression: `vars(block).update`."""
    if isinstance(node, ast.Attribute):
        return [*_parts(node.value), node.attr]
    return [node.id if isinstance(node, ast.Name) else ""]
