"""The modules of a project and what their names stand for, read lazily along the imports.

Nothing is imported or run: a name stands for a definition in a file of the project, for a qualified name outside of
it, or for nothing we can show. Where several bindings are possible the answer is None (after hypothesis,
extra/codemods.py: match_qualname).
"""

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst

from scanify.analysis.dotted import dotted as dotted
from scanify.analysis.in_other_words import in_other_words
from scanify.analysis.names import body_of, flow, imported_names
from scanify.source.file import Source
from scanify.source.parse import Parsed, SyntaxProblem, parse

_MAX_HOPS = 16  # re-exports that go round in circles end here
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class External:
    """Something outside the project, by its qualified name: `equinox.nn.Linear`."""

    qualname: str


@dataclass(frozen=True, eq=False)
class Definition:
    """A class or function defined in a file of the project."""

    module: "Module"
    node: cst.ClassDef | cst.FunctionDef

    @property
    def name(self) -> str:
        return self.node.name.value

    @property
    def key(self) -> tuple[Path, str]:
        return self.module.path, self.name


@dataclass(frozen=True, eq=False)
class Assigned:
    """A module-level name bound by one plain assignment."""

    module: "Module"
    value: cst.BaseExpression


Meaning = Definition | External | Assigned


@dataclass(frozen=True)
class _Import:
    """`from origin import name` (or `import origin` where name is None) with the dots already resolved."""

    origin: str
    name: str | None


@dataclass(frozen=True, eq=False)
class Module:
    """One file of the project under its dotted name."""

    path: Path
    name: str
    parsed: Parsed
    bindings: dict[str, list[_Import | cst.ClassDef | cst.FunctionDef | cst.BaseExpression | None]] = field(
        default_factory=dict
    )
    stars: list[str] = field(default_factory=list)

    _local_names: dict[cst.FunctionDef, frozenset[str]] = field(default_factory=dict)

    def local_names(self, function: cst.FunctionDef) -> frozenset[str]:
        """The names that the statements of a function bind. Kept, since every question about a name asks it again."""
        if function not in self._local_names:
            self._local_names[function] = frozenset(flow(body_of(function.body)).bound)
        return self._local_names[function]


class Project:
    """The files that were given and those that their imports lead to."""

    def __init__(self, sources: Sequence[Source], read: Callable[[Path], Source | None] | None = None) -> None:
        self._read = read
        self._modules: dict[Path, Module | None] = {}
        self._names: dict[Path, tuple[Path, str]] = {}
        self._sources: dict[Path, Source | None] = {source.path: source for source in sources}
        self.given = frozenset(self._sources)
        self.problems: dict[Path, SyntaxProblem] = {}

    def _source(self, path: Path) -> Source | None:
        if path not in self._sources:
            self._sources[path] = self._read(path) if self._read is not None else None
        return self._sources[path]

    def module_at(self, path: Path) -> Module | None:
        """The module in a file, None where there is none that can be read and parsed (then see `problems`)."""
        if path not in self._modules:
            self._modules[path] = None  # ends cycles
            source = self._source(path)
            answer = parse(source) if source is not None else None
            if isinstance(answer, Parsed):
                answer = in_other_words(answer) if path in self.given else answer
                self._modules[path] = _collect(Module(path, self._location(path)[1], answer))
            elif answer is not None:
                self.problems[path] = answer
        return self._modules[path]

    def given_with(self, text: str) -> Iterator[Module]:
        """Those of the given files that hold a text; the others are not parsed for it."""
        for path in sorted(self.given):
            source = self._sources[path]
            if source is not None and text in source.text and (module := self.module_at(path)) is not None:
                yield module

    def _exists(self, path: Path) -> bool:
        return self._source(path) is not None

    def _location(self, path: Path) -> tuple[Path, str]:
        """The folder that dotted names start from, and the file's dotted name: up while there is an `__init__.py`."""
        if path not in self._names:
            parts = [] if path.stem == "__init__" else [path.stem]
            folder = path.parent
            while self._exists(folder / "__init__.py") and folder.name:
                parts.insert(0, folder.name)
                folder = folder.parent
            self._names[path] = folder, ".".join(parts)
        return self._names[path]

    def _named(self, name: str, near: Module) -> Module | None:
        """The module of a dotted name as a file near `near` would import it."""
        if not name:
            return None
        root = self._location(near.path)[0]
        relative = Path(*name.split("."))
        for base in dict.fromkeys([root, near.path.parent, root / "src"]):
            for candidate in (base / relative.with_suffix(".py"), base / relative / "__init__.py"):
                if (found := self.module_at(candidate)) is not None:
                    return found
        return None

    def resolve(self, module: Module, name: str, hops: int = 0) -> Meaning | None:
        """What a dotted name at the top level of a module stands for; None where it cannot be shown."""
        head, _, rest = name.partition(".")
        meaning = self._binding(module, head, hops)
        if isinstance(meaning, Module):
            return self._inside(meaning, rest, hops + 1) if rest and hops < _MAX_HOPS else None
        if not rest:
            return meaning
        return External(f"{meaning.qualname}.{rest}") if isinstance(meaning, External) else None

    def _inside(self, module: Module, rest: str, hops: int) -> Meaning | None:
        """What `rest` stands for in an imported module: one of its names, or a name of one of its submodules."""
        found = self.resolve(module, rest, hops)
        head, _, tail = rest.partition(".")
        if found is None and tail and head not in module.bindings:
            submodule = self._named(f"{module.name}.{head}", module)
            if submodule is not None:
                return self._inside(submodule, tail, hops + 1)
        return found

    def is_builtin(self, module: Module, name: str) -> bool:
        """Whether a name that no function around binds is Python's own, as `zip` is unless the module binds it."""
        if name not in _BUILTINS or name in module.bindings:
            return False
        return not any(True for _ in self._star_meanings(module, name, 0))

    def is_import(self, module: Module, name: str) -> bool:
        """Whether a module's name comes from imports alone and stands for no object that this project makes."""
        bound = module.bindings.get(name, [])
        imported = bool(bound) and all(isinstance(one, _Import) for one in bound)
        return imported and not isinstance(self.resolve(module, name), Assigned)

    def _binding(self, module: Module, name: str, hops: int) -> "Meaning | Module | None":
        meanings = [self._meaning(module, binding, hops) for binding in module.bindings.get(name, ())]
        meanings += self._star_meanings(module, name, hops)
        if not meanings:
            return None
        first = meanings[0]
        # Two bindings of one name: which one holds depends on the run, unless they are the same thing.
        if any(not _same(first, other) for other in meanings[1:]):
            return None
        return first

    def _star_meanings(self, module: Module, name: str, hops: int) -> "Iterator[Meaning | Module | None]":
        """What `name` stands for in the modules of the project that are imported with a star, where they bind it."""
        for origin in module.stars if not name.startswith("_") and hops < _MAX_HOPS else ():
            target = self._named(origin, module)
            if target is not None and (name in target.bindings or target.stars):
                found = self._binding(target, name, hops + 1)
                if found is not None or name in target.bindings:
                    yield found

    def _meaning(
        self,
        module: Module,
        binding: _Import | cst.ClassDef | cst.FunctionDef | cst.BaseExpression | None,
        hops: int,
    ) -> "Meaning | Module | None":
        if binding is None or hops >= _MAX_HOPS:
            return None
        if isinstance(binding, cst.ClassDef | cst.FunctionDef):
            return Definition(module, binding)
        if isinstance(binding, _Import):
            return self._imported(module, binding, hops)
        if (alias := dotted(binding)) is not None:  # `Base = eqx.Module`
            return self.resolve(module, alias, hops + 1)
        return Assigned(module, binding)

    def _imported(self, module: Module, binding: _Import, hops: int) -> "Meaning | Module | None":
        target = self._named(binding.origin, module)
        if binding.name is None:
            return target if target is not None else External(binding.origin)
        if target is not None:
            found = self._binding(target, binding.name, hops + 1)
            if found is not None:
                return found
        submodule = self._named(f"{binding.origin}.{binding.name}", module)
        if submodule is not None:
            return submodule
        return External(f"{binding.origin}.{binding.name}") if target is None else None

    def name_for(self, module: Module, definition: Definition, hidden: frozenset[str]) -> str | None:
        """A dotted name that stands for a definition at the top level of `module`, not starting with a hidden name."""
        for name in module.bindings:
            if name in hidden:
                continue
            meaning = self._binding(module, name, 0)
            if isinstance(meaning, Definition) and meaning.node is definition.node:
                return name
            if isinstance(meaning, Module):
                inner = self._binding(meaning, definition.name, 1)
                if isinstance(inner, Definition) and inner.node is definition.node:
                    return f"{name}.{definition.name}"
        return None


def _same(one: "Meaning | Module | None", other: "Meaning | Module | None") -> bool:
    if isinstance(one, Definition) and isinstance(other, Definition):
        return one.node is other.node
    return one == other


def _collect(module: Module) -> Module:
    package = module.name if module.path.stem == "__init__" else module.name.rpartition(".")[0]
    for statement in _top_level(module.parsed.module.body):
        _bind(module, statement, package)
    return module


def _top_level(body: Iterable[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The statements that run when the module is imported, those under `if`, `try` and `with` included."""
    for statement in body:
        match statement:
            case cst.SimpleStatementLine():
                yield from statement.body
            case cst.FunctionDef() | cst.ClassDef():
                yield statement
            case cst.If() if not _type_checking(statement.test):
                yield from _top_level(statement.body.body)
                if statement.orelse is not None:
                    yield from _top_level([statement.orelse])
            case cst.If():
                if statement.orelse is not None:
                    yield from _top_level([statement.orelse])
            case cst.For() | cst.With():
                yield statement
                yield from _top_level(statement.body.body)
            case cst.Else() | cst.Finally() | cst.ExceptHandler() | cst.ExceptStarHandler() | cst.While():
                yield from _top_level(statement.body.body)
            case cst.Try() | cst.TryStar():
                yield from _top_level([*statement.body.body, *statement.handlers])
                for rest in (statement.orelse, statement.finalbody):
                    if rest is not None:
                        yield from _top_level(rest.body.body)
            case _:
                pass


def _type_checking(test: cst.BaseExpression) -> bool:
    return (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING"


def _bind(module: Module, statement: cst.CSTNode, package: str) -> None:
    def add(name: str, value: _Import | cst.ClassDef | cst.FunctionDef | cst.BaseExpression | None) -> None:
        module.bindings.setdefault(name, []).append(value)

    match statement:
        case cst.ClassDef() | cst.FunctionDef():
            add(statement.name.value, statement)
        case cst.Import():
            for alias, local in zip(statement.names, imported_names(statement), strict=True):
                full = dotted(alias.name) or ""
                # `import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`.
                add(local, _Import(full if alias.asname is not None else local, None))
        case cst.ImportFrom():
            origin = _origin(statement, package)
            if isinstance(statement.names, cst.ImportStar):
                module.stars.append(origin)
            else:
                for alias, local in zip(statement.names, imported_names(statement), strict=True):
                    add(local, _Import(origin, dotted(alias.name)))
        case cst.Assign():
            for target in statement.targets:
                for name in _assigned(target.target):
                    add(name, statement.value if isinstance(target.target, cst.Name) else None)
        case cst.AnnAssign() if statement.value is not None:
            for name in _assigned(statement.target):
                add(name, statement.value)
        case cst.AugAssign():
            for name in _assigned(statement.target):
                add(name, None)
        case cst.For():
            for name in _assigned(statement.target):
                add(name, None)
        case cst.With():
            for item in statement.items:
                for name in _assigned(item.asname.name) if item.asname is not None else ():
                    add(name, None)
        case _:
            pass


def _assigned(target: cst.CSTNode) -> list[str]:
    if isinstance(target, cst.Name):
        return [target.value]
    if isinstance(target, cst.Tuple | cst.List):
        return [name for element in target.elements for name in _assigned(element.value)]
    return []


def _origin(node: cst.ImportFrom, package: str) -> str:
    """The absolute dotted name of the module a `from` import names."""
    name = dotted(node.module) or "" if node.module is not None else ""
    if not node.relative:
        return name
    parts = package.split(".") if package else []
    up = len(node.relative) - 1
    base = parts[: len(parts) - up] if up else parts
    return ".".join([*base, name] if name else base)
