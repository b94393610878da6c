"""What the user's code consults beside the modules that it imports: files, variables of the environment, libraries.

A result holds for as long as all of these stay as they were. Files are those that Python opens to read; what a library
opens by itself (safetensors, HDF5) is not seen. Libraries count by the sizes and times of their files, so that one that
is changed in place is another.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from scanify.verify.audit import hearing

_SYSTEM = ("/proc/", "/sys/", "/dev/")
_LARGE = 64 << 20

# Stands for the names of all variables.
_ALL = "*"


@dataclass(frozen=True)
class Consulted:
    """`files` by path and `variables` by name, each with a digest of what it held, None where there was none;
    `libraries` by the folder or file of the package, with a digest of the sizes and times of its files.
    """

    files: tuple[tuple[str, str | None], ...] = ()
    variables: tuple[tuple[str, str | None], ...] = ()
    libraries: tuple[tuple[str, str], ...] = ()

    def holds(self) -> bool:
        """Whether all of it is as it was."""
        return (
            all(_variable(name, dict(os.environ)) == known for name, known in self.variables)
            and all(_file(path) == known for path, known in self.files)
            and all(_library(place) == known for place, known in self.libraries)
        )


@dataclass(eq=False)
class Consulting:
    """Takes down what is consulted. `ignored` says of which files, by their absolute paths, nothing is kept."""

    ignored: Callable[[str], bool]
    start: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    files: dict[str, str | None] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    busy: bool = False

    def variable(self, name: str) -> None:
        self.variables.setdefault(name, _variable(name, self.start))

    def opened(self, given: Any, flags: Any) -> None:
        if self.busy or not isinstance(given, str | bytes | os.PathLike) or not isinstance(flags, int):
            return
        path = str(Path(os.fsdecode(given)).absolute())
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self.written.add(path)
        elif path not in self.written and path not in self.files and not self.ignored(path):
            self.busy = True  # to look at the file is to open it
            try:
                self.files[path] = _file(path)
            finally:
                self.busy = False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self.opened(arguments[0], arguments[2])

    def found(self, is_library: Callable[[str], bool], without: Sequence[str]) -> Consulted:
        """All that was consulted so far, `without` files that are known otherwise."""
        known = {path: held for path, held in self.files.items() if path not in set(without)}
        places = {place for module in list(sys.modules.values()) for place in _places(module) if is_library(place)}
        libraries = tuple((place, _library(place)) for place in sorted(places))
        return Consulted(tuple(sorted(known.items())), tuple(sorted(self.variables.items())), libraries)


class _Variables(dict[bytes, bytes]):
    """The variables of `os.environ`, which asks it for each."""

    def __init__(self, values: dict[bytes, bytes], ask: Callable[[str], None]) -> None:
        super().__init__(values)
        self._ask = ask

    def __getitem__(self, key: bytes) -> bytes:
        self._ask(os.fsdecode(key))
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[bytes]:
        self._ask(_ALL)
        return super().__iter__()


@contextmanager
def consulting(ignored: Callable[[str], bool]) -> Iterator[Consulting]:
    """Inside, what is consulted is taken down."""
    record = Consulting(ignored)
    environ: Any = os.environ
    before = environ._data
    watched = _Variables(before, record.variable)
    _put(watched)
    try:
        with hearing(record.hear):
            yield record
    finally:
        before.clear()
        before.update(dict.items(watched))
        _put(before)


def _put(values: dict[bytes, bytes]) -> None:
    views: tuple[Any, ...] = (os.environ, os.environb)
    for each in views:
        each._data = values


def is_systems(path: str) -> bool:
    """Whether a file is one of the system, or of bytecode."""
    return path.startswith(_SYSTEM) or path.endswith(".pyc")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _variable(name: str, values: dict[str, str]) -> str | None:
    if name == _ALL:
        return _digest("\0".join(sorted(values)).encode("utf-8", "surrogateescape"))
    value = values.get(name)
    return None if value is None else _digest(value.encode("utf-8", "surrogateescape"))


def _file(path: str) -> str | None:
    try:
        found = Path(path).stat()
        if found.st_size > _LARGE:
            return f"{found.st_size} {found.st_mtime_ns}"
        return _digest(Path(path).read_bytes())
    except OSError:
        return None


def _library(place: str) -> str:
    """A digest of the sizes and times of the Python files and extensions at a place."""
    whole = hashlib.sha256()
    for path in [Path(place)] if Path(place).is_file() else sorted(_below(place)):
        try:
            found = path.stat()
        except OSError:
            continue
        whole.update(f"{path}\0{found.st_size}\0{found.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _below(place: str) -> Iterator[Path]:
    for folder, _, names in os.walk(place):
        yield from (Path(folder, name) for name in names if name.endswith((".py", ".so")))


def _places(module: object) -> list[str]:
    """Where a module that is in no package lies: its file, or the folder of a package, or its folders."""
    if not isinstance(module, ModuleType) or "." in module.__name__:
        return []
    file = vars(module).get("__file__")
    if isinstance(file, str):
        return [str(Path(file).parent)] if Path(file).name.startswith("__init__.") else [file]
    return list(getattr(vars(module).get("__spec__"), "submodule_search_locations", None) or ())
