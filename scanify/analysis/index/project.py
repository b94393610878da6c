"""All files of a project, parsed on demand, and the meanings of their names."""

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
"""Builtins that no library star replaces, in contrast to `map`, which `from jax.lax import *` replaces."""
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_OF_ALL_FILES = ("paths", "patches", "_paths_by_word", "_paths_with", "_folders", "_homes")


class Index:
    """The files of one project.

    `sources` are the files already read; `read` returns other files below `root` that imports lead to. Files are parsed
    on demand and kept in `trees`, which may hold parsed files already; `problems` holds files that could not be parsed.
    `modules` are unchanged modules of an earlier index.
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
        """The known files, in order of their paths."""
        return tuple(sorted(path for path, source in self._sources.items() if source is not None))

    def source(self, path: Path) -> Source | None:
        """Return the text of a file of the project; None if it does not exist."""
        if path not in self._sources:
            found = self._sources[path] = self._read(path) if self._read is not None else None
            if found is not None:
                for name in _OF_ALL_FILES:
                    self.__dict__.pop(name, None)
        return self._sources[path]

    def is_file(self, path: Path) -> bool:
        """True if the project has a file at a path."""
        return self.source(path) is not None

    def module_at(self, path: Path) -> Module | None:
        """Return the module in a file; None if it does not exist or cannot be parsed (then see `problems`)."""
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
        """Yield the modules whose text has all of these identifiers; other files are not parsed for it."""
        for path in self.paths_with(*words):
            if (module := self.module_at(path)) is not None:
                yield module

    def paths_with(self, *words: str) -> Sequence[Path]:
        """Return the files whose text has all of these identifiers."""
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
        """Return every identifier in the text of a file, including comments and strings."""
        if path not in self._words:
            source = self.source(path)
            self._words[path] = frozenset(_IDENTIFIER.findall(source.text)) if source is not None else frozenset()
        return self._words[path]

    @cached_property
    def patches(self) -> Patches:
        """The stores by which files patch names elsewhere."""
        return Patches(self)

    # -- names -----------------------------------------------------------------------------------------------------

    def resolve(self, module: Module, dotted: str) -> Meaning | None:
        """Return the meaning of a dotted name at the top level of `module`; None if it is unknown.

        Imports, re-exports and stars are followed; an assignment is its own definition, whatever its value. A name
        that is bound in several ways, or rebound by a function, is unknown. So is an attribute of a definition, which
        the caller looks up.
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
        """Return the meaning of the absolute dotted name of an import in `near`: `a.b.c` for `from a.b import c`."""
        head, *rest = dotted.split(".")
        package = self._package(head, near, relative)
        if package is None:
            return None if relative else External(dotted)
        found = self._descend(package, rest)
        return None if relative and found == External(dotted) else found

    def rebound_builtins(self, module: Module) -> frozenset[str]:
        """Return the builtin names that may mean something else in a module that does not bind them itself.

        A star import may bring them, or some file may store them into `builtins`.
        """
        brought = self._starred(module)[1] if module.bindings.stars else frozenset()
        return brought | self.patches.builtins

    def _name(self, module: Module, name: str) -> Meaning | None:
        """Return the meaning that a module binds to a name, by itself or by stars."""
        key = (module.path, name)
        if key not in self._bound:
            self._bound[key] = None  # a circular name has no meaning
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
            imports = [each for each in imports if not each.checking]  # at run time only these exist
        elif module.binds("__getattr__"):
            return None
        meanings: list[Meaning | None] = [Definition(module, name, each) for each in definitions]
        meanings += [self.resolve_absolute(module, each.target, relative=each.relative) for each in imports]
        starred = self._starred(module)[0] if module.bindings.stars else ()
        meanings += [self._name(each, name) for each in starred if each.binds(name) and each.exports(name)]
        return meanings[0] if meanings and all(each == meanings[0] for each in meanings) else None

    def _starred(self, module: Module) -> tuple[tuple[Module, ...], frozenset[str]]:
        """Return the modules of the project imported with a star, and the builtin names that stars may bring.

        Stars inside imported modules are followed; a star of a library may bring any builtin except `_OF_NO_LIBRARY`.
        """
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
        """Return the meaning of a name in a module: a binding of the module, or a submodule."""
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
        """Return the module or package of the project that the first part of an import in `near` refers to."""
        key = (near.base, near.path.parent, head, relative)
        if key not in self._heads:
            self._heads[key] = self._first_part(head, near, relative)
        return self._heads[key]

    def _first_part(self, head: str, near: Module, relative: bool) -> Package | None:
        if relative:
            return self._in_folder(near.base, head)
        above = [self.root.parent] if head == self.root.name else []  # a package without `__init__.py` that is the root
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
        """The import folders of modules and packages anywhere in the project, by their names."""
        found: dict[str, set[Path]] = {}
        for path in self.paths:
            base, name = locate(path, self.root, self.is_file)
            found.setdefault(name.partition(".")[0], set()).add(base)
        return found

    def _in_folder(self, folder: Path, name: str, above: str = "") -> Package | None:
        """Return the module or package of a name in the folder of the package `above`."""
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
