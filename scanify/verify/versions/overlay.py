"""Two versions of the user's modules in one process, the rewritten one from memory.

Each version has its own module objects. While a version is active, `sys.modules` contains its modules and its texts
replace the files; otherwise, no module of the project is loaded. An import that the user's code runs later (inside a
function, while the model is traced) is served by the version that the importing module belongs to: otherwise the
original model could silently run rewritten code, and be proved equal to itself.
"""

import builtins
import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType

from scanify.verify.cache.audit import go_to
from scanify.verify.versions.loaded import REWRITTEN, Version, VersionLoader, find_in_version, module_files
from scanify.verify.versions.project import Project, below, module_name

__all__ = ["Overlay", "Version"]

Texts = Mapping[Path, bytes | None]


class Overlay(MetaPathFinder):
    """The import machinery for both versions of a project; a context manager that installs it.

    A file whose text is None does not exist in that version.
    """

    def __init__(self, project: Project, originals: Texts, rewritten: Texts) -> None:
        self.project = project
        self.original = Version.of("original", originals, project.search)
        self.rewritten = Version.of("rewritten", rewritten, project.search, REWRITTEN)
        self.current: Version | None = None
        self._import = builtins.__import__
        self._import_module = importlib.import_module
        self._displayed: dict[str, str | None] = {}
        self._owned: dict[str, bool] = {}
        self._path = sys.path
        self._shared = sys.path
        self._folder = os.curdir
        self._loaded: frozenset[str] = frozenset()
        self._libraries: tuple[str, ...] = ()

    def __enter__(self) -> "Overlay":
        self._import, self._import_module = builtins.__import__, importlib.import_module
        builtins.__import__ = self._importing
        importlib.import_module = self._importing_module
        self._path = list(sys.path)
        sys.path[:] = [*self.original.search, *sys.path, *map(str, self.project.fallback)]
        sys.meta_path.insert(0, self)
        self._remember_libraries()
        self._take_modules()
        return self

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._import
        importlib.import_module = self._import_module
        sys.path[:] = self._path
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @contextmanager
    def active(self, version: Version) -> Iterator[None]:
        """Put the project's modules of `version`, and of no other, into `sys.modules`."""
        if self.current is version:
            yield
            return
        previous = self._switch(version)
        try:
            yield
        finally:
            self._switch(previous)

    def load(self, path: Path, version: Version) -> ModuleType:
        """Import the file at `path`, under its own dotted name, as a module of `version`.

        Raises all errors of the user's code.
        """
        with self.active(version):
            by_name = None if self._is_outside(path, version) else self._load_by_name(path, version)
            module = by_name or self._load_by_path(path, version)
            self._check_loaded(version)
            return module

    def files(self, name: str) -> str | None:
        """Return the displayed name for the `co_filename` `name`; None for files that are not the user's."""
        if name not in self._displayed:
            path = name.removesuffix(REWRITTEN)
            owned = path.startswith(os.sep) and self._owns_file(path)
            self._displayed[name] = self.project.display(path) if owned else None
        return self._displayed[name]

    def version_of(self, frame: FrameType) -> Version | None:
        """Return the version whose code runs in `frame`; None for code outside the project."""
        return _version_of(frame.f_globals)

    def is_users(self, name: str) -> bool:
        """Return True if a version has loaded a module of this dotted name."""
        return name in self.original.modules or name in self.rewritten.modules

    def is_library(self, file: str) -> bool:
        """Return True if the path of a file, or in a folder, is not part of the project, scanify or Python."""
        return not self._owns_file(file) and not self.project.is_own_or_python(file)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = self._found(fullname, path, target)
        self._note(fullname, path, spec)
        if spec is None or spec.origin is None:
            return spec
        # Hooks that rewrite files on loading, such as pytest's for tests, read the disk.
        has_text = self.current is not None and self.current.text(spec.origin) is not None
        if not has_text and not isinstance(spec.loader, SourceFileLoader):
            return spec
        if not self._owns_file(spec.origin):
            return spec
        if self.current is None:
            raise ImportError(
                f"{fullname} is imported while the model is called, neither by an import statement nor by "
                "importlib.import_module, so it is unknown which of the two versions is meant; import it at the top",
                name=fullname,
            )
        spec.loader = VersionLoader(fullname, spec.origin, self.current)
        spec.cached = None
        return spec

    def _found(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        version = self.current
        if version is None or not version.uneven:
            return self._found_by_others(fullname, path, target)
        served = find_in_version(fullname, sys.path if path is None else path, version, self._owns_place)
        spec = served or self._found_by_others(fullname, path, target)
        if spec is None or spec is served:
            return spec
        if spec.origin is not None and spec.has_location:
            gone = self._owns_file(spec.origin) and not version.is_file(spec.origin)
        else:
            places = spec.submodule_search_locations or ()
            gone = bool(places) and all(self._owns_place(each) and not version.holds(each) for each in places)
        if gone:  # None would leave it to the other finders, which see the disk.
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return spec

    def _note(self, fullname: str, path: Sequence[str] | None, spec: ModuleSpec | None) -> None:
        """Record files of the project that were looked for in vain: any of them would change what is imported."""
        version = self.current
        if version is None:
            return
        origin = None if spec is None else spec.origin
        for place in sys.path if path is None else path:
            if not self._owns_place(place) or not Path(place).is_dir():
                continue
            for file in module_files(fullname, place):
                if file == origin:
                    return
                if not version.is_file(file):
                    version.missed.add(file)
        if origin is not None and self._owns_file(origin) and Path(origin).is_file():  # a compiled extension
            version.note(origin)

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)) is not None:
                return spec
        return None

    def _load_by_name(self, path: Path, version: Version) -> ModuleType | None:
        name = module_name(path, lambda file: version.is_file(str(file)))
        if not all(part.isidentifier() for part in name.split(".")):
            return None
        taken = sys.modules.get(name)
        if taken is not None and not self._owns_module(taken):
            return None
        module = importlib.import_module(name)
        return module if _is_file(module, path) else None

    def _is_outside(self, path: Path, version: Version) -> bool:
        """True if a file lies outside of the version's own tree, where its name may be another file's."""
        return version.folder is not None and not any(below(str(path), place) for place in version.search)

    def _check_loaded(self, version: Version) -> None:
        """Raise if a module bypassed the overlay: a file read from disk would be the same in both versions."""
        for name, module in list(sys.modules.items()):
            file = vars(module).get("__file__") if self._owns_module(module) else None
            if isinstance(file, str) and version.text(file) is not None and _version_of(vars(module)) is not version:
                raise ImportError(
                    f"{name} was loaded from {file} by {type(module.__spec__ and module.__spec__.loader).__name__}, so "
                    "its rewritten version cannot take its place; verify without this import hook",
                    name=name,
                )

    def _load_by_path(self, path: Path, version: Version) -> ModuleType:
        """Load files that cannot be imported by name (`my-model.py`), or share it with another module (`types.py`)."""
        name = f"scanify_{version.name}_{path.stem}"
        spec = spec_from_file_location(name, path, loader=VersionLoader(name, str(path), version))
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _importing(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        # A library: nothing else is loaded outside the versions. A fast path for layers that import in their methods.
        if self.current is None and level == 0 and name.partition(".")[0] in sys.modules:
            return self._import(name, globals, locals, fromlist or (), level)
        with self._for(_version_of(globals or {}), globals):
            return self._import(name, globals, locals, fromlist or (), level)

    def _importing_module(self, name: str, package: str | None = None) -> ModuleType:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _version_of(frame.f_globals) is None:
            frame = frame.f_back
        importer = {} if frame is None else frame.f_globals
        with self._for(_version_of(importer), importer):
            return self._import_module(name, package)

    @contextmanager
    def _for(self, version: Version | None, importer: Mapping[str, object] | None = None) -> Iterator[None]:
        # Import hooks that the user's packages install (jaxtyping's) put themselves first and read files from disk.
        if sys.meta_path[0] is not self:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if version is None:
            yield
            return
        version.importing.append(str((importer or {}).get("__file__", "")))
        try:
            with self.active(version):
                yield
        finally:
            version.importing.pop()

    def _switch(self, version: Version | None) -> Version | None:
        previous, self.current = self.current, version
        self._turn_path(previous, version)
        self._turn_folder(previous, version)
        modules = self._take_modules()
        if previous is not None:
            previous.modules = modules
        if version is not None:
            sys.modules.update(version.modules)
        return previous

    def _turn_path(self, previous: Version | None, version: Version | None) -> None:
        """Switch `sys.path`, which each version has its own of; its directories come first if they differ."""
        if previous is None:
            self._shared = list(sys.path)
        else:
            previous.path = list(sys.path)
        if version is not None and version.path is not None:
            sys.path[:] = version.path
            return
        sys.path[:] = self._shared
        if version is not None and self.original.search != self.rewritten.search:
            mine = {*self.original.search, *self.rewritten.search}
            sys.path[:] = [*version.search, *(place for place in sys.path if place not in mine)]

    def _turn_folder(self, previous: Version | None, version: Version | None) -> None:
        """Switch the working directory, which each version has its own of if its files lie in their own folder."""
        if previous is not None and previous.folder is not None:
            previous.folder = str(Path.cwd())
        if version is None or version.folder is None:
            if previous is not None and previous.folder is not None:
                go_to(self._folder)
        else:
            if previous is None:
                self._folder = str(Path.cwd())
            go_to(version.folder)

    def _take_modules(self) -> dict[str, ModuleType]:
        owned = {name: module for name, module in list(sys.modules.items()) if self._owns_module(module)}
        for name in owned:
            del sys.modules[name]
        return owned

    def _owns_module(self, module: object) -> bool:
        if not isinstance(module, ModuleType) or module.__name__ == "__main__":
            return False
        file = vars(module).get("__file__")
        if isinstance(file, str):
            return self._owns_file(file) and not file.endswith((".so", ".pyd"))
        return any(map(self._owns_place, _namespace_places(module)))

    def _owns_place(self, directory: str) -> bool:
        return self._owns_file(f"{directory}{os.sep}_")

    def _owns_file(self, file: str) -> bool:
        if file not in self._owned:  # called for every module at every switch
            self._owned[file] = file.startswith(os.sep) and (
                self.project.owns(file)
                # Other modules that may import the project must not stay either, or they would keep the other version.
                or not (self.project.is_foreign(file) or self._is_loaded_library(file))
            )
        return self._owned[file]

    def _is_loaded_library(self, file: str) -> bool:
        return file in self._loaded or any(below(file, place) for place in self._libraries)

    def _remember_libraries(self) -> None:
        """Record earlier imports, such as jax, which stay loaded even if they are a checkout and not installed."""
        loaded = {name: module for name, module in sys.modules.items() if isinstance(module, ModuleType)}
        found = {name: vars(module).get("__file__") for name, module in loaded.items()}
        files = {name: file for name, file in found.items() if isinstance(file, str) and not self.project.owns(file)}
        self._loaded = frozenset(files.values())
        packages = {os.path.split(file)[0] for name, file in files.items() if "." not in name and _is_init(file)}
        spread = {place for module in loaded.values() for place in _namespace_places(module)}
        packages |= {place for place in spread if not self.project.owns(f"{place}{os.sep}_")}
        self._libraries = tuple(place for place in packages if not self.project.is_foreign(f"{place}{os.sep}_"))


def _namespace_places(module: ModuleType) -> list[str]:
    """Return the directories of a package without `__init__.py`; none for any other module."""
    if isinstance(vars(module).get("__file__"), str):
        return []
    return list(getattr(vars(module).get("__spec__"), "submodule_search_locations", None) or ())


def _is_init(file: str) -> bool:
    return file.endswith(f"{os.sep}__init__.py")


def _version_of(module_globals: Mapping[str, object]) -> Version | None:
    loader = getattr(module_globals.get("__spec__"), "loader", None) or module_globals.get("__loader__")
    return loader.version if isinstance(loader, VersionLoader) else None


def _is_file(module: ModuleType, path: Path) -> bool:
    file = vars(module).get("__file__")
    return isinstance(file, str) and os.path.realpath(file) == os.path.realpath(path)
