"""All files of a project, parsed where they are needed, and what their names stand for."""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from scanify.analysis.index.layout import LIBRARIES, keeps_source, locate
from scanify.analysis.index.meaning import Definition, External, Meaning, Package
from scanify.analysis.index.module import Module
from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.index.patches import Patches
from scanify.analysis.index.words import Words
from scanify.source.file import Source

_BUILTINS = frozenset(dir(builtins))
_OF_NO_LIBRARY = frozenset("enumerate iter len list range reversed tuple zip".split())
"""Builtins that no star of a library brings others of, as `from jax.lax import *` brings a `map`."""


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
        self._words = Words()
        self._known = len(self._sources)  # those that are files; paths where there is none are remembered, too
        self._sorted: tuple[int, tuple[Path, ...]] = (-1, ())
        self._texts: list[str] = []  # of the paths in order
        self._patches: tuple[int, Patches] = (-1, Patches(self))
        self._folders: set[Path] | None = None
        self._names: dict[str, list[Path]] | None = None
        self._found: dict[tuple[Path, str], Package | None] = {}
        self._heads: dict[tuple[Path, Path, str, bool], Package | None] = {}
        self._bound: dict[tuple[Path, str], Meaning | None] = {}
        self._stars: dict[Path, tuple[tuple[Module, ...], frozenset[str]]] = {}
        self._meanings: dict[tuple[Path, str], Meaning | None] = {}
        self._files = _Files(self)

    # -- files -----------------------------------------------------------------------------------------------------

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are known, in order of their paths."""
        known = self._known
        if self._sorted[0] != known:
            found = sorted((path, source.text) for path, source in self._sources.items() if source is not None)
            self._sorted = known, tuple(path for path, _ in found)
            self._texts = [text for _, text in found]
        return self._sorted[1]

    def source(self, path: Path) -> Source | None:
        """The text of a file of the project, None where there is none."""
        if path not in self._sources:
            self._sources[path] = self._read(path) if self._read is not None else None
            self._known += self._sources[path] is not None
        return self._sources[path]

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
        base, name = locate(source.path, self.root, self._files)
        return Module(source.path, name, base, source.path.stem == "__init__", source.text, tree)

    def modules_with(self, *words: str) -> Iterator[Module]:
        """The modules whose text has all of these identifiers; the other files are not parsed for it."""
        for path in self.paths_with(*words):
            if (module := self.module_at(path)) is not None:
                yield module

    def paths_with(self, *words: str) -> Iterator[Path]:
        """The files whose text has all of these identifiers."""
        yield from self._words.having(words, self.paths, self._texts)

    def words(self, path: Path) -> frozenset[str]:
        """Every identifier in the text of a file, those in comments and strings included."""
        source = self.source(path)
        return self._words.of(path, source.text) if source is not None else frozenset()

    @property
    def patches(self) -> Patches:
        """What some file puts in the place of something else."""
        if self._patches[0] != self._known:
            self._patches = self._known, Patches(self)
        return self._patches[1]

    def is_replaced(self, path: str) -> bool:
        """Whether some file puts something else under the last name of a dotted path into what the one before names."""
        *_, holder, name = ("", *path.split("."))
        return self.patches.in_module(holder, name)

    # -- names -----------------------------------------------------------------------------------------------------

    def resolve(self, module: Module, dotted: str) -> Meaning | None:
        """What a dotted name at the top level of `module` stands for; None where that cannot be shown.

        Imports, re-exports and stars are followed; an assignment is its own definition, whatever it assigns. A name
        that is bound in several ways, or that a function rebinds, stands for nothing that can be shown. An attribute
        of a definition is for the caller to look up: None.
        """
        key = (module.path, dotted)
        if key not in self._meanings:
            self._meanings[key] = self._resolved(module, dotted)
        return self._meanings[key]

    def _resolved(self, module: Module, dotted: str) -> Meaning | None:
        head, *rest = dotted.split(".")
        found = self._name(module, head)
        if found is None and head in _BUILTINS and not module.binds(head) and head not in self.rebound_builtins(module):
            found = External(f"builtins.{head}")
        return self._descend(found, rest)

    def resolve_absolute(self, near: Module, dotted: str, *, relative: bool = False) -> Meaning | None:
        """What the absolute dotted name of an import in `near` stands for, as in `from a.b import c`: `a.b.c`."""
        return self._absolute(near, dotted, relative)

    def rebound_builtins(self, module: Module) -> frozenset[str]:
        """Python's own names that may mean something else in a module though it binds none of them itself.

        A star brings others, or some file puts others into `builtins`.
        """
        brought = self._starred(module)[1] if module.bindings.stars else frozenset()
        return brought | self.patches.builtins

    def _may_bind(self, module: Module, name: str) -> bool:
        """Whether a module binds a name, or imports stars that might."""
        return module.binds(name) or bool(module.bindings.stars)

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
        if definitions and self.is_replaced(f"{module.name}.{name}"):
            return None
        if definitions or not all(each.checking for each in imports):
            imports = [each for each in imports if not each.checking]  # at run time there are the others alone
        elif module.binds("__getattr__"):
            return None
        meanings: list[Meaning | None] = [Definition(module, name, each) for each in definitions]
        meanings += [self._absolute(module, each.target, each.relative) for each in imports]
        meanings += [
            self._name(each, name) for each in self._starred(module)[0] if each.exports(name) and each.binds(name)
        ]
        if not meanings or any(each != meanings[0] for each in meanings):
            return None
        return meanings[0]

    def _starred(self, module: Module) -> tuple[tuple[Module, ...], frozenset[str]]:
        """The modules of the project that are imported with a star, directly or by one of those, and the names of
        builtins that stars may bring, those of libraries included."""
        if module.path not in self._stars:
            found: dict[Path, Module] = {}
            beyond = False
            waiting = [module]
            while waiting:
                each = waiting.pop()
                for star in each.bindings.stars:
                    origin = self._absolute(each, star.target, star.relative)
                    target = origin.module if isinstance(origin, Package) else None
                    beyond = beyond or target is None
                    if target is not None and target.path not in found and target is not module:
                        found[target.path] = target
                        waiting.append(target)
            brought = {name for each in found.values() for name in _BUILTINS if each.exports(name) and each.binds(name)}
            brought |= _BUILTINS - _OF_NO_LIBRARY if beyond else set()
            self._stars[module.path] = tuple(found.values()), frozenset(brought)
        return self._stars[module.path]

    def _absolute(self, near: Module, dotted: str, relative: bool) -> Meaning | None:
        head, *rest = dotted.split(".")
        package = self._package(head, near, relative)
        if package is None:
            return None if relative else External(dotted)
        found = self._descend(package, rest)
        return None if relative and found == External(dotted) else found

    def _descend(self, found: Meaning | None, rest: list[str]) -> Meaning | None:
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
        if module is not None:
            found = self._name(module, name)
            if found is not None or name in module.bindings.definitions or name in module.rebound:
                return found
        inner = self._inside(package, name)
        if inner is None and module is not None and package.name in LIBRARIES and not self._may_bind(module, name):
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
        above = [self.root.parent] if head == self.root.name else []  # a package without `__init__.py`, given alone
        for base in dict.fromkeys([near.base, self.root, self.root / "src", near.path.parent, *above]):
            own = relative and base == near.base
            if head in LIBRARIES and not own and not keeps_source(base, self.root, self._files):
                continue
            found = self._in_folder(base, head, "")
            if found is not None and (found.module is not None or own or head not in LIBRARIES):
                return found
            if relative:
                return found
        return None if head in LIBRARIES else self._elsewhere(head)

    def _elsewhere(self, head: str) -> Package | None:
        """A package of this name anywhere in the project, where there is exactly one."""
        if self._names is None:
            self._names = {}
            for path in self.paths:
                base, name = locate(path, self.root, self._files)
                tops = self._names.setdefault(name.partition(".")[0], [])
                if base not in tops:
                    tops.append(base)
        bases = self._names.get(head, [])
        return self._in_folder(bases[0], head, "") if len(bases) == 1 else None

    def _inside(self, package: Package, name: str) -> Package | None:
        """The submodule of a package."""
        if package.module is not None and not package.module.is_package:
            return None
        return self._in_folder(package.folder, name, package.name)

    def _in_folder(self, folder: Path, name: str, above: str) -> Package | None:
        key = (folder, name)
        if key not in self._found:
            self._found[key] = self._looked_up(folder, name, f"{above}.{name}" if above else name)
        return self._found[key]

    def _looked_up(self, folder: Path, name: str, dotted: str) -> Package | None:
        inside = folder / name
        for path, place in ((inside / "__init__.py", inside), (folder / f"{name}.py", folder)):
            if path in self._files:
                module = self.module_at(path)
                return Package(dotted, place if module is not None else path, module)
        return Package(dotted, inside, None) if inside in self._all_folders() or inside == self.root else None

    def _all_folders(self) -> set[Path]:
        if self._folders is None:
            self._folders = set()
            for path in self.paths:
                for folder in path.parents:
                    if folder in self._folders or folder == self.root:
                        break
                    self._folders.add(folder)
        return self._folders


class _Files:
    """The files of an index as a container of paths."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def __contains__(self, path: object) -> bool:
        return isinstance(path, Path) and self._index.source(path) is not None
