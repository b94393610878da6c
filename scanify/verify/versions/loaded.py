"""One of the two versions of a project: its texts, its loaded files, and their loader."""

import ast
import hashlib
import linecache
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

# The suffix of the `co_filename` of rewritten code.
REWRITTEN = " (rewritten)"


@dataclass(eq=False)
class Version:
    """One version: its name (`original` or `rewritten`), the texts it has instead of files, and its loaded modules.

    `texts` is by real path. A file whose text is None does not exist in this version. `suffix` is added to the
    `co_filename` of those texts, so that a frame identifies its version. `search` are the directories that this version
    imports from before all others, `read` the files of the project that it loaded, each with the SHA-256 of its bytes,
    and `missed` those that it looked for in vain.
    """

    name: str
    texts: Mapping[str, bytes | None]
    suffix: str = ""
    search: tuple[str, ...] = ()
    modules: dict[str, ModuleType] = field(default_factory=dict)
    # `sys.path` as its code left it; None before any code has run.
    path: list[str] | None = None
    read: dict[str, str] = field(default_factory=dict)
    missed: set[str] = field(default_factory=set)
    # True if its set of files differs from the disk.
    uneven: bool = False
    # The files whose import statements are running, innermost last; and the importer of each file.
    importing: list[str] = field(default_factory=list)
    importers: dict[str, str] = field(default_factory=dict)
    # The directory that it is loaded and built in; None: the directory of the process.
    folder: str | None = None
    # Parses the bytes of a file and its `co_filename` for compilation; None: they are compiled directly.
    parse: Callable[[bytes, str], ast.Module | bytes] | None = None

    @classmethod
    def of(cls, name: str, texts: Mapping[Path, bytes | None], search: Sequence[Path], suffix: str = "") -> "Version":
        """Build a version from its texts; `search` are directories."""
        uneven = any((text is not None) != path.is_file() for path, text in texts.items())
        real = {os.path.realpath(path): text for path, text in texts.items()}
        if suffix:  # `mixed` finds by these names the files with two versions, loaded or not
            for path in texts:
                linecache.cache.setdefault(f"{path}{suffix}", (0, None, [], f"{path}{suffix}"))
        return cls(name, real, suffix, tuple(map(str, search)), uneven=uneven)

    def text(self, path: str) -> bytes | None:
        """Return the text that the version has instead of the file at `path`; None if it has the file itself."""
        return self.texts.get(os.path.realpath(path))

    def is_file(self, path: str) -> bool:
        """True if there is a file at `path` in this version."""
        real = os.path.realpath(path)
        return self.texts[real] is not None if real in self.texts else Path(real).is_file()

    def code_name(self, path: str) -> str:
        """Return the `co_filename` of code from the file at `path`."""
        return path + self.suffix if self.text(path) is not None else path

    def note(self, path: str, data: bytes | None = None) -> None:
        """Record that the file at `path` was loaded."""
        if path not in self.read:
            self.importers[path] = self.importing[-1] if self.importing else ""
            self.read[path] = digest(Path(path).read_bytes() if data is None else data)

    def holds(self, directory: str) -> bool:
        """True if there is a Python file of this version below `directory`."""
        real = os.path.realpath(directory) + os.sep
        own = any(path.startswith(real) for path, text in self.texts.items() if text is not None)
        return own or any(self.is_file(str(file)) for file in Path(directory).rglob("*.py"))


class VersionLoader(SourceFileLoader):
    """Loads a module of the project for one version, from memory if the version has a text for it.

    It neither reads nor writes bytecode files, which contain the file's own text and name.
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
        self.version.note(self.path, source)
        if self.version.text(self.path) is not None:
            lines = decode_source(source).splitlines(keepends=True)
            linecache.cache[name] = (len(source), None, lines, name)
        tree = source if self.version.parse is None else self.version.parse(source, name)
        return compile(tree, name, "exec", dont_inherit=True)


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def module_files(fullname: str, place: str) -> tuple[str, str]:
    """Return the two possible files of the module `fullname` in the directory `place`, in Python's order."""
    base = Path(place) / fullname.rpartition(".")[2]
    return str(base / "__init__.py"), f"{base}.py"


def find_in_version(
    fullname: str, places: Sequence[str], version: Version, owned: Callable[[str], bool]
) -> ModuleSpec | None:
    """Find the module `fullname` in the files of `version`, if they are not those on disk.

    `places` are the directories to look in, in order; `owned` returns whether one belongs to the project. None if
    another directory has the module first, as any finder will find, or no directory has it.
    """
    if fullname in sys.builtin_module_names:
        return None
    spread, hidden = [], False
    for place in places:
        if not owned(place):
            found = PathFinder.find_spec(fullname, [place])
            if found is not None and found.loader is not None:
                return found if hidden else None
            continue
        package, module = module_files(fullname, place)
        base = str(Path(package).parent)
        for file, inside in ((package, [base]), (module, None)):
            if version.is_file(file):
                return spec_from_file_location(fullname, file, submodule_search_locations=inside)
            hidden = hidden or Path(file).is_file()
        if version.holds(base):
            spread.append(base)
    if not spread:
        return None
    spec = ModuleSpec(fullname, None, is_package=True)
    spec.submodule_search_locations = spread
    return spec
