"""Stores, uses and patched names of one file by attribute name, from its syntax tree: made once and kept with it."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scanify.analysis.lower.nodes import by_kind, children, kept, nodes_in

CONSTRUCTORS = frozenset("__init__ __new__ __post_init__ __check_init__ __setstate__ setup".split())
# `mock.patch.object(Block, "scale", half)` stores like `setattr(Block, "scale", half)`.
_SETTERS = frozenset("setattr delattr __setattr__ __delattr__".split())
_MOCKS = frozenset({"patch", "multiple", "object"})
_GETTERS = frozenset({"getattr", "attrgetter"})
_COPIERS = frozenset("replace evolve _replace".split())  # `replace(model, **changes)`
_FINDS_MODULES = frozenset("import_module __import__ getmodule globals".split())
_CALLED = _SETTERS | _MOCKS | _FINDS_MODULES | _GETTERS | _COPIERS
ANY_MODULE = "*"  # the module that a store goes to if the file may find modules by name


@dataclass(frozen=True, eq=False)
class Store:
    """A store to an attribute, or its deletion, other than that of a constructor to its own object.

    `forced` stores also reach objects of frozen classes: `object.__setattr__(block, "scale", half)`.
    """

    name: str
    node: ast.AST
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

    stores: dict[str, list[Store]] = field(default_factory=lambda: defaultdict(list))
    uses: dict[str, list[ast.AST]] = field(default_factory=lambda: defaultdict(list))
    strings: dict[str, list[ast.Constant]] = field(default_factory=lambda: defaultdict(list))
    modules: set[tuple[str, str]] = field(default_factory=set)
    loose: list[ast.AST] = field(default_factory=list)
    loose_reads: list[ast.Call] = field(default_factory=list)
    elements: dict[str, list[ast.Attribute]] = field(default_factory=lambda: defaultdict(list))
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=list)
    positional: list[ast.MatchClass] = field(default_factory=list)
    _lines: dict[int, list[ast.FunctionDef | ast.AsyncFunctionDef]] = field(default_factory=lambda: defaultdict(list))

    def functions_on(self, line: int) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return the functions around a line, the outer ones first."""
        if not self._lines:
            for function in sorted(self.functions, key=lambda each: each.lineno):
                for number in range(function.lineno, (function.end_lineno or function.lineno) + 1):
                    self._lines[number].append(function)
        return self._lines.get(line, [])


def by_name(tree: ast.Module) -> ByName:
    """Return the table of a file."""
    return kept(tree, "_by_name", lambda: _Reader(tree).table)


class _Reader:
    """One pass over all nodes of a file, and a second one over its constructors."""

    def __init__(self, tree: ast.Module) -> None:
        self.table = ByName()
        kinds = by_kind(tree)
        self.table.functions.extend([*kinds[ast.FunctionDef], *kinds[ast.AsyncFunctionDef]])
        self._own = {id(each) for cls in kinds[ast.ClassDef] for each in _own_stores(cls)}
        self._passing = {id(each) for cls in kinds[ast.ClassDef] for each in _passed_on(cls)}
        self._origins = _origins([*kinds[ast.Import], *kinds[ast.ImportFrom]])
        self._finds_modules = not _FINDS_MODULES.isdisjoint(self._origins)
        for node in kinds[ast.Constant]:
            if node.value.__class__ is str and node.value.replace(".", "_").isidentifier():
                for name in node.value.split("."):
                    self.table.strings[name].append(node)
        for node in kinds[ast.keyword]:
            if node.arg is not None:
                self.table.uses[node.arg].append(node)
        for node in kinds[ast.MatchClass]:
            for name in node.kwd_attrs:
                self.table.uses[name].append(node)
        for node in kinds[ast.Subscript]:
            if isinstance(node.value, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                self.table.elements[node.value.attr].append(node.value)
        self.table.positional.extend(node for node in kinds[ast.MatchClass] if node.patterns)
        for node in (*kinds[ast.Subscript], *kinds[ast.Call]):
            self._read(node)
        called = {id(each.func) for each in kinds[ast.Call]}
        for node in kinds[ast.Attribute]:
            self.table.uses[node.attr].append(node)
            if node.ctx.__class__ is not ast.Load:
                self._store(node.value, node.attr, node, forced=False)
        mentions = [node for node in kinds[ast.Name] if node.id in _SETTERS]
        mentions += [node for node in kinds[ast.Attribute] if node.attr in _SETTERS]
        self.table.loose.extend(node for node in mentions if id(node) not in called)  # `map(setattr, ...)`
        if self._finds_modules:
            self.table.modules.update((ANY_MODULE, name) for name in self.table.stores)

    def _read(self, node: ast.AST) -> None:
        """Add the stores of one node."""
        match node:
            case ast.Subscript(value=fields, slice=key, ctx=ast.Store() | ast.Del()) if owner := _fields_of(fields):
                self._named(owner, key, node)
            case ast.Subscript(value=ast.Attribute(value=ast.Name("sys"), attr="modules")):
                self._finds_modules = True
            case ast.Call(ast.Attribute(value=fields, attr="update" | "__setitem__")) if owner := _fields_of(fields):
                self._update(owner, node)
            case ast.Call(func=function):
                called = {_last(function), *self._origins.get(getattr(function, "id", ""), ())} & _CALLED
                if not called:
                    return
                self._finds_modules |= not _FINDS_MODULES.isdisjoint(called)
                if not _SETTERS.isdisjoint(called):
                    self._set(node)
                elif not _MOCKS.isdisjoint(called):
                    self._mock(node)
                elif not _GETTERS.isdisjoint(called):
                    if not isinstance(node.args[-1:] and node.args[:2][-1], ast.Constant):
                        self.table.loose_reads.append(node)
                elif any(each.arg is None for each in node.keywords):
                    self.table.loose_reads.append(node)

    def _store(self, owner: ast.expr, name: str, node: ast.AST, *, forced: bool) -> None:
        if id(node) not in self._own:
            self.table.stores[name].append(Store(name, node, forced))
            self.table.modules.update((holder, name) for holder in self._holders(owner))

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

    def _set(self, call: ast.Call) -> None:
        """`setattr(owner, name, value)`, `owner.__setattr__(name, value)`, `monkeypatch.setattr("blocks.build", value)`
        and deletions."""
        given = [*call.args, *(each.value for each in call.keywords)]
        match call.func, given:
            case (ast.Attribute(owner, "__setattr__"), [_, _]) | (ast.Attribute(owner, "__delattr__"), [_]):
                given.insert(0, owner)
            case owner, [ast.Constant(), *_]:
                given.insert(0, owner)
        target, key = (*given, None, None)[:2]
        self._named(target or call.func, key, call)

    def _mock(self, call: ast.Call) -> None:
        """`mock.patch("blocks.build")`, `patch.object(Block, "scale")`, `patch.multiple(Block, scale=half)`."""
        function = call.func
        method = function.attr if isinstance(function, ast.Attribute) else ""
        mocks = not isinstance(function, ast.Attribute) or _last(function.value) in ("mock", "mocker", "patch")
        given = {each.arg: each.value for each in call.keywords if each.arg is not None}
        first = call.args[0] if call.args else given.pop("target", None)
        if method in ("object", "multiple"):
            second = call.args[1] if len(call.args) > 1 else given.pop("attribute", None)
            if first is not None and (mocks or isinstance(second, ast.Constant)) and (second or method == "object"):
                self._named(first, second, call)
            for name in given if mocks and method == "multiple" else ():
                self._store(first or function, name, call, forced=True)
        elif mocks or isinstance(first, ast.Constant):
            self._named(function, first, call)

    def _update(self, owner: ast.expr, call: ast.Call) -> None:
        """`vars(block).update(scale=half)`, `block.__dict__.update({"scale": half})`."""
        literal = [each for each in nodes_in(*call.args) if isinstance(each, ast.Constant)]
        for name in (*(each.arg for each in call.keywords), *(each.value for each in literal)):
            if isinstance(name, str):
                self._store(owner, name, call, forced=True)
        plain = all(isinstance(each, ast.Dict | ast.Constant) for each in call.args)
        if id(call) not in self._own and (not plain or any(each.arg is None for each in call.keywords)):
            self.table.loose.append(call)

    def _holders(self, owner: ast.expr) -> Iterator[str]:
        """The last names of the modules that a dotted name may stand for."""
        parts: list[str] = []
        while isinstance(owner, ast.Attribute):
            parts.append(owner.attr)
            owner = owner.value
        if isinstance(owner, ast.Name):
            for origin in self._origins.get(owner.id, ()):
                yield parts[0] if parts else origin


def _origins(imports: Iterable[ast.Import | ast.ImportFrom]) -> dict[str, set[str]]:
    """Return the last names of what each name is imported from, wherever the import is."""
    found = {"__builtins__": {"builtins"}}
    for alias in (alias for each in imports for alias in each.names):
        local = alias.asname or alias.name.partition(".")[0]
        found.setdefault(local, set()).add((alias.name if alias.asname else local).rpartition(".")[2])
    return found


def _own_stores(cls: ast.ClassDef) -> Iterator[ast.AST]:
    """The nodes by which the constructors of a class, and the methods that these mention, store to their own object."""
    methods = {each.name: each for each in cls.body if isinstance(each, ast.FunctionDef)}
    building = set(CONSTRUCTORS & methods.keys())
    waiting = [*building]
    while waiting:
        method = methods[waiting.pop()]
        arguments = [*method.args.posonlyargs, *method.args.args]
        if not arguments:
            continue
        for node in _of_object(method, arguments[0].arg):
            yield node
            if isinstance(node, ast.Attribute) and node.attr in methods.keys() - building:
                building.add(node.attr)
                waiting.append(node.attr)


def _passed_on(cls: ast.ClassDef) -> Iterator[ast.AST]:
    """The calls in the `__setattr__` of a class: each stores under the name of a store elsewhere, which counts."""
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__setattr__", "__delattr__"):
            yield from nodes_in(*method.body)


def _of_object(function: ast.AST, own: str) -> list[ast.AST]:
    """Return the attributes, subscripts and calls in a function that are about the object named `own`.

    Empty if the function binds the name again. Classes and functions inside that have such a parameter are excluded.
    """
    found: list[ast.AST] = []
    waiting = children(function)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name == own:
                return []
            case ast.ClassDef():
                continue
            case ast.FunctionDef(args=inner) | ast.AsyncFunctionDef(args=inner) | ast.Lambda(args=inner):
                if own in {each.arg for each in nodes_in(inner) if isinstance(each, ast.arg)}:
                    continue
            case ast.Attribute(value=ast.Name(id=name)) if name == own:
                found.append(node)
            case ast.Call(func=ast.Name() | ast.Attribute(), args=[ast.Name(id=name), *_]) if name == own:
                found.append(node)
            case ast.Subscript(value=fields) | ast.Call(func=ast.Attribute(value=fields)):
                if getattr(_fields_of(fields), "id", None) == own:
                    found.append(node)
        waiting += children(node)
    return found


def _fields_of(node: ast.expr) -> ast.expr | None:
    """The object whose fields `vars(x)` or `x.__dict__` holds; `globals()` itself, which holds those of a module."""
    match node:
        case ast.Attribute(value=owner, attr="__dict__") | ast.Call(func=ast.Name("vars"), args=[owner]):
            return owner
        case ast.Call(func=ast.Name("vars" | "globals" | "locals")) | ast.Name("__builtins__"):
            return node
        case _:
            return None


def _last(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
