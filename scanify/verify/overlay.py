"""Two versions of the user's modules in one process, the rewritten one from memory.

Each version has its own module objects. While a version is active its modules are in `sys.modules` and its texts stand
in the place of the files; outside, no module of the project is there. An import that the user's code runs later (inside
a function, while the model is traced) is served by the version that the importing module belongs to: otherwise the
original model could silently run rewritten code, and be proved equal to itself.
"""

import builtins
import importlib
import linecache
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from scanify.verify.project import Project, below, module_name

# What the `co_filename` of rewritten code ends with.
REWRITTEN = " (rewritten)"


@dataclass(eq=False)
class Version:
    """One version: its name (`original` or `rewritten`), the texts it has instead of files, and its loaded modules.

    `texts` is by real path. `suffix` is added to the `co_filename` of those texts, so that a frame tells its version.
    """

    name: str
    texts: Mapping[str, bytes]
    suffix: str = ""
    modules: dict[str, ModuleType] = field(default_factory=dict)

    def text(self, path: str) -> bytes | None:
        return self.texts.get(os.path.realpath(path))

    def code_name(self, path: str) -> str:
        """The `co_filename` of code from the file at `path`."""
        return path + self.suffix if self.text(path) is not None else path


class VersionLoader(SourceFileLoader):
    """Loads a module of the project for one version, from memory where the version has a text for it.

    It neither reads nor writes bytecode files: they hold the file's own text and name.
    """

    def __init__(self, fullname: str, path: str, version: Version) -> None:
        super().__init__(fullname, path)
        self.version = version

    def get_data(self, path: Any) -> bytes:
        text = self.version.text(os.fspath(path))
        return super().get_data(path) if text is None else text

    def get_code(self, fullname: str) -> CodeType:
        name = self.version.code_name(self.path)
        source = self.get_data(self.path)
        if self.version.text(self.path) is not None:
            lines = decode_source(source).splitlines(keepends=True)
            linecache.cache[name] = (len(source), None, lines, name)
        return compile(source, name, "exec", dont_inherit=True)


class Overlay(MetaPathFinder):
    """The import machinery for both versions of a project; a context manager, inside which it is installed."""

    def __init__(self, project: Project, originals: Mapping[Path, bytes], rewritten: Mapping[Path, bytes]) -> None:
        self.project = project
        self.original = Version("original", _by_real_path(originals))
        self.rewritten = Version("rewritten", _by_real_path(rewritten), REWRITTEN)
        self.current: Version | None = None
        self._import = builtins.__import__
        self._import_module = importlib.import_module
        self._displayed: dict[str, str | None] = {}
        self._owned: dict[str, bool] = {}
        self._path = sys.path
        self._loaded: frozenset[str] = frozenset()
        self._libraries: tuple[str, ...] = ()

    def __enter__(self) -> "Overlay":
        self._import, self._import_module = builtins.__import__, importlib.import_module
        builtins.__import__ = self._importing
        importlib.import_module = self._importing_module
        self._path = list(sys.path)
        sys.path[:] = [*map(str, self.project.search), *sys.path, *map(str, self.project.fallback)]
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
        """Inside, `sys.modules` has the project's modules of `version`, and of no other."""
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

        Raises whatever the user's code raises.
        """
        with self.active(version):
            module = self._load_by_name(path) or self._load_by_path(path, version)
            self._check_loaded(version)
            return module

    def files(self, name: str) -> str | None:
        """How to show the file with the `co_filename` `name`; None where it is not the user's."""
        if name not in self._displayed:
            path = name.removesuffix(REWRITTEN)
            owned = path.startswith(os.sep) and self._owns_file(path)
            self._displayed[name] = self.project.display(path) if owned else None
        return self._displayed[name]

    def version_of(self, frame: FrameType) -> Version | None:
        """The version whose code runs in `frame`; None where it is not the project's."""
        return _version_of(frame.f_globals)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = self._found_by_others(fullname, path, target)
        if spec is None or spec.origin is None or not isinstance(spec.loader, SourceFileLoader):
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

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(fullname, path, target)) is not None:
                return spec
        return None

    def _load_by_name(self, path: Path) -> ModuleType | None:
        name = module_name(path)
        if not all(part.isidentifier() for part in name.split(".")):
            return None
        taken = sys.modules.get(name)
        if taken is not None and not self._owns_module(taken):
            return None
        module = importlib.import_module(name)
        return module if _is_file(module, path) else None

    def _check_loaded(self, version: Version) -> None:
        """Nothing may have gone around the overlay: a file read from disk would be the same in both versions."""
        for name, module in list(sys.modules.items()):
            file = vars(module).get("__file__") if self._owns_module(module) else None
            if isinstance(file, str) and version.text(file) is not None and _version_of(vars(module)) is not version:
                raise ImportError(
                    f"{name} was loaded from {file} by {type(module.__spec__ and module.__spec__.loader).__name__}, so "
                    "its rewritten version cannot take its place; verify without this import hook",
                    name=name,
                )

    def _load_by_path(self, path: Path, version: Version) -> ModuleType:
        """For files whose name cannot be imported (`my-model.py`) or is another module's (`types.py`)."""
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
        # A library: outside the versions nothing else is loaded. Fast, for layers that import in their methods.
        if self.current is None and level == 0 and name.partition(".")[0] in sys.modules:
            return self._import(name, globals, locals, fromlist or (), level)
        with self._for(_version_of(globals or {})):
            return self._import(name, globals, locals, fromlist or (), level)

    def _importing_module(self, name: str, package: str | None = None) -> ModuleType:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _version_of(frame.f_globals) is None:
            frame = frame.f_back
        with self._for(None if frame is None else _version_of(frame.f_globals)):
            return self._import_module(name, package)

    @contextmanager
    def _for(self, version: Version | None) -> Iterator[None]:
        # Import hooks that the user's packages install (jaxtyping's) put themselves first and read files from disk.
        if sys.meta_path[0] is not self:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if version is None:
            yield
        else:
            with self.active(version):
                yield

    def _switch(self, version: Version | None) -> Version | None:
        previous, self.current = self.current, version
        modules = self._take_modules()
        if previous is not None:
            previous.modules = modules
        if version is not None:
            sys.modules.update(version.modules)
        return previous

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
        return any(self._owns_file(f"{place}{os.sep}_") for place in _namespace_places(module))

    def _owns_file(self, file: str) -> bool:
        if file not in self._owned:  # Asked for every module at every switch.
            self._owned[file] = file.startswith(os.sep) and (
                self.project.owns(file)
                # Anything else that may import the project must not stay either, or it would keep the other version.
                or not (self.project.is_foreign(file) or self._is_loaded_library(file))
            )
        return self._owned[file]

    def _is_loaded_library(self, file: str) -> bool:
        return file in self._loaded or any(below(file, place) for place in self._libraries)

    def _remember_libraries(self) -> None:
        """What was imported before, such as jax, stays as it is, even where it is a checkout and not installed."""
        loaded = {name: module for name, module in sys.modules.items() if isinstance(module, ModuleType)}
        found = {name: vars(module).get("__file__") for name, module in loaded.items()}
        files = {name: file for name, file in found.items() if isinstance(file, str) and not self.project.owns(file)}
        self._loaded = frozenset(files.values())
        packages = {os.path.split(file)[0] for name, file in files.items() if "." not in name and _is_init(file)}
        spread = {place for module in loaded.values() for place in _namespace_places(module)}
        packages |= {place for place in spread if not self.project.owns(f"{place}{os.sep}_")}
        self._libraries = tuple(place for place in packages if not self.project.is_foreign(f"{place}{os.sep}_"))


def _namespace_places(module: ModuleType) -> list[str]:
    """The directories of a package without `__init__.py`; none for any other module."""
    if isinstance(vars(module).get("__file__"), str):
        return []
    return list(getattr(vars(module).get("__spec__"), "submodule_search_locations", None) or ())


def _is_init(file: str) -> bool:
    return file.endswith(f"{os.sep}__init__.py")


def _version_of(module_globals: Mapping[str, object]) -> Version | None:
    loader = getattr(module_globals.get("__spec__"), "loader", None) or module_globals.get("__loader__")
    return loader.version if isinstance(loader, VersionLoader) else None


def _by_real_path(texts: Mapping[Path, bytes]) -> dict[str, bytes]:
    return {os.path.realpath(path): text for path, text in texts.items()}


def _is_file(module: ModuleType, path: Path) -> bool:
    file = vars(module).get("__file__")
    return isinstance(file, str) and os.path.realpath(file) == os.path.realpath(path)
