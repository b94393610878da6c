"""All files of a project, parsed where they are needed, and what their names stand for."""

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from scanify.analysis.index.layout import LIBRARIES, keeps_source, locate
from scanify.analysis.index.meaning import Definition, External, Meaning, Package
from scanify.analysis.index.module import Module
from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.index.patches import Patches
from scanify.source.file import Source

_BUILTINS = frozenset(dir(builtins))
_OF_NO_LIBRARY = frozenset("enumerate iter len list range reversed tuple zip".split())
"""Builtins that no star of a library brings others of, as `from jax.lax import *` brings a `map`."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_OF_ALL_FILES = ("paths", "patches", "_paths_by_word", "_paths_with", "_folders", "_homes")


class Index:
    """The files of one project.

    `sources` are those that were read; `read` gives others below `root` where an import leads to them. Files are
    parsed when they are asked for and kept in `trees`, beside those that are parsed already; `problems` are those that
    could not be parsed. `modules` are those of an earlier index that are the same.
    """

    def __init__(
        self,
        root: Path,
        sources: Iterable[Source],
        read: Callable[[Path], Source | None] | None = None,
        trees: dict[Path, ast.Module | Problem] | None = None,
        modules: Mapping[Path, Module] | None = None,
    ) -> None:
        self.root = root
        self.problems: dict[Path, Problem] = {}
        self._read = read
        self._trees = trees if trees is not None else {}
        self._sources: dict[Path, Source | None] = {source.path: source for source in sources}
        self._modules: dict[Path, Module | None] = {**modules} if modules is not None else {}
        self._words: dict[Path, frozenset[str]] = {}
        self._packages: dict[tuple[Path, str], Package | None] = {}
        self._heads: dict[tuple[Path, Path, str, bool], Package | None] = {}
        self._bound: dict[tuple[Path, str], Meaning | None] = {}
        self._stars: dict[Path, tuple[tuple[Module, ...], frozenset[str]]] = {}
        self._meanings: dict[tuple[Path, str], Meaning | None] = {}

    # -- files -----------------------------------------------------------------------------------------------------

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The files that are known, in order of their paths."""
        return tuple(sorted(path for path, source in self._sources.items() if source is not None))

    def source(self, path: Path) -> Source | None:
        """The text of a file of the project, None where there is none."""
        if path not in self._sources:
            found = self._sources[path] = self._read(path) if self._read is not None else None
            if found is not None:
                for name in _OF_ALL_FILES:
                    self.__dict__.pop(name, None)
        return self._sources[path]

    def is_file(self, path: Path) -> bool:
        """True if there is a file of the project at a path."""
        return self.source(path) is not None

    def module_at(self, path: Path) -> Module | None:
        """The module in a file; None where there is none that can be read and parsed (then see `problems`)."""
        if path not in self._modules:
            source = self.source(path)
            self._modules[path] = self._parsed(source) if source is not None else None
        return self._modules[path]

    def _parsed(self, source: Source) -> Module | None:
        known = self._trees.get(source.path)
        tree = known if known is not None else self._trees.setdefault(source.path, parse(source.text))
        if isinstance(tree, Problem):
            self.problems[source.path] = tree
            return None
        base, name = locate(source.path, self.root, self.is_file)
        return Module(source.path, name, base, source.path.stem == "__init__", source.text, tree)

    def modules_with(self, *words: str) -> Iterator[Module]:
        """The modules whose text has all of these identifiers; the other files are not parsed for it."""
        for path in self.paths_with(*words):
            if (module := self.module_at(path)) is not None:
                yield module

    def paths_with(self, *words: str) -> Sequence[Path]:
        """The files whose text has all of these identifiers."""
        known = self._paths_with
        if words not in known:
            first, *others = sorted((self._paths_by_word.get(word, []) for word in words), key=len)
            common = set(first).intersection(*others)
            known[words] = [path for path in first if path in common]
        return known[words]

    @cached_property
    def _paths_with(self) -> dict[tuple[str, ...], list[Path]]:
        return {}

    @cached_property
    def _paths_by_word(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for path in self.paths:
            for word in self.words(path):
                found.setdefault(word, []).append(path)
        return found

    def words(self, path: Path) -> frozenset[str]:
        """Every identifier in the text of a file, those in comments and strings included."""
        if path not in self._words:
            source = self.source(path)
            self._words[path] = frozenset(_IDENTIFIER.findall(source.text)) if source is not None else frozenset()
        return self._words[path]

    @cached_property
    def patches(self) -> Patches:
        """What some file puts in the place of something else."""
        return Patches(self)

    # -- names -----------------------------------------------------------------------------------------------------

    def resolve(self, module: Module, dotted: str) -> Meaning | None:
        """What a dotted name at the top level of `module` stands for; None where that cannot be shown.

        Imports, re-exports and stars are followed; an assignment is its own definition, whatever it assigns. A name
        that is bound in several ways, or that a function rebinds, stands for nothing that can be shown. An attribute
        of a definition is for the caller to look up: None.
        """
        key = (module.path, dotted)
        if key not in self._meanings:
            head, *rest = dotted.split(".")
            found = self._name(module, head)
            hidden = found is not None or head not in _BUILTINS or module.binds(head)
            if not hidden and head not in self.rebound_builtins(module):
                found = External(f"builtins.{head}")
            self._meanings[key] = self._descend(found, rest)
        return self._meanings[key]

    def resolve_absolute(self, near: Module, dotted: str, *, relative: bool = False) -> Meaning | None:
        """What the absolute dotted name of an import in `near` stands for, as in `from a.b import c`: `a.b.c`."""
        head, *rest = dotted.split(".")
        package = self._package(head, near, relative)
        if package is None:
            return None if relative else External(dotted)
        found = self._descend(package, rest)
        return None if relative and found == External(dotted) else found

    def rebound_builtins(self, module: Module) -> frozenset[str]:
        """Python's own names that may mean something else in a module though it binds none of them itself.

        A star brings others, or some file puts others into `builtins`.
        """
        brought = self._starred(module)[1] if module.bindings.stars else frozenset()
        return brought | self.patches.builtins

    def _name(self, module: Module, name: str) -> Meaning | None:
        """What a module binds to a name, by itself or by stars."""
        key = (module.path, name)
        if key not in self._bound:
            self._bound[key] = None  # a name that comes back to itself stands for nothing
            self._bound[key] = self._one_meaning(module, name)
        return self._bound[key]

    def _one_meaning(self, module: Module, name: str) -> Meaning | None:
        imports = module.bindings.imports.get(name, [])
        definitions = module.bindings.definitions.get(name, [])
        if name in module.rebound or any(isinstance(each, ast.Delete) for each in definitions):
            return None
        if definitions and self.patches.in_module(module.name.rpartition(".")[2], name):
            return None
        if definitions or not all(each.checking for each in imports):
            imports = [each for each in imports if not each.checking]  # at run time there are the others alone
        elif module.binds("__getattr__"):
            return None
        meanings: list[Meaning | None] = [Definition(module, name, each) for each in definitions]
        meanings += [self.resolve_absolute(module, each.target, relative=each.relative) for each in imports]
        starred = self._starred(module)[0] if module.bindings.stars else ()
        meanings += [self._name(each, name) for each in starred if each.binds(name) and each.exports(name)]
        return meanings[0] if meanings and all(each == meanings[0] for each in meanings) else None

    def _starred(self, module: Module) -> tuple[tuple[Module, ...], frozenset[str]]:
        """The modules of the project that are imported with a star, directly or by one of those, and the names of
        builtins that stars may bring, those of libraries included."""
        if module.path not in self._stars:
            found: dict[Path, Module] = {}
            brought: set[str] = set()
            waiting = [module]
            for each in waiting:
                for star in each.bindings.stars:
                    origin = self.resolve_absolute(each, star.target, relative=star.relative)
                    target = origin.module if isinstance(origin, Package) else None
                    if target is None:
                        brought |= _BUILTINS - _OF_NO_LIBRARY
                    elif target.path not in found and target is not module:
                        found[target.path] = target
                        waiting.append(target)
            starred = found.values()
            brought |= {name for each in starred for name in _BUILTINS if each.binds(name) and each.exports(name)}
            self._stars[module.path] = tuple(starred), frozenset(brought)
        return self._stars[module.path]

    def _descend(self, found: Meaning | None, rest: Sequence[str]) -> Meaning | None:
        for at, part in enumerate(rest):
            if isinstance(found, External):
                return External(".".join([found.qualname, *rest[at:]]))
            if not isinstance(found, Package):
                return None
            found = self._attribute(found, part)
        return found

    def _attribute(self, package: Package, name: str) -> Meaning | None:
        """What a module has under a name: what it binds, or a submodule."""
        module = package.module
        if module is None:
            return self._in_folder(package.folder, name, package.name)
        found = self._name(module, name)
        if found is not None or name in module.definitions:
            return found
        inner = self._in_folder(package.folder, name, package.name) if module.is_package else None
        if inner is None and package.name in LIBRARIES and not module.binds(name) and not module.bindings.stars:
            return External(f"{package.name}.{name}")
        return inner

    # -- modules by name -------------------------------------------------------------------------------------------

    def _package(self, head: str, near: Module, relative: bool) -> Package | None:
        """The module or package of the project that the first part of an import in `near` stands for."""
        key = (near.base, near.path.parent, head, relative)
        if key not in self._heads:
            self._heads[key] = self._first_part(head, near, relative)
        return self._heads[key]

    def _first_part(self, head: str, near: Module, relative: bool) -> Package | None:
        if relative:
            return self._in_folder(near.base, head)
        above = [self.root.parent] if head == self.root.name else []  # a package without `__init__.py`, given alone
        for base in dict.fromkeys([near.base, self.root, self.root / "src", near.path.parent, *above]):
            if head in LIBRARIES and not keeps_source(base, self.root, self.is_file):
                continue
            found = self._in_folder(base, head)
            if found is not None and (found.module is not None or head not in LIBRARIES):
                return found
        homes = [*self._homes.get(head, ())] if head not in LIBRARIES else []
        return self._in_folder(homes[0], head) if len(homes) == 1 else None

    @cached_property
    def _homes(self) -> dict[str, set[Path]]:
        """The folders anywhere in the project that modules and packages are imported from, by their names."""
        found: dict[str, set[Path]] = {}
        for path in self.paths:
            base, name = locate(path, self.root, self.is_file)
            found.setdefault(name.partition(".")[0], set()).add(base)
        return found

    def _in_folder(self, folder: Path, name: str, above: str = "") -> Package | None:
        """The module or package of a name in a folder, which is that of the package `above`."""
        key = (folder, name)
        if key not in self._packages:
            self._packages[key] = self._looked_up(folder, name, f"{above}.{name}" if above else name)
        return self._packages[key]

    def _looked_up(self, folder: Path, name: str, dotted: str) -> Package | None:
        inside = folder / name
        for path, place in ((inside / "__init__.py", inside), (folder / f"{name}.py", folder)):
            if self.is_file(path):
                module = self.module_at(path)
                return Package(dotted, place if module is not None else path, module)
        return Package(dotted, inside, None) if inside in self._folders else None

    @cached_property
    def _folders(self) -> set[Path]:
        return {folder for path in self.paths for folder in path.parents}
