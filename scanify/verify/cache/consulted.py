"""Record what the user's code consults besides the modules it imports: files, environment variables, libraries.

A result is valid as long as all of these are unchanged. Files are those that Python opens to read, those that the
user's code queries (existence, size), and folders that it lists; for a module loaded from bytecode it is the source.
Reads by libraries themselves (safetensors, HDF5) are not detected, so if one is loaded no result is valid. Libraries
count by the sizes and times of their files, so that changes in place are detected. Actions that cannot be tracked, such
as running another program, are named: then no result is valid.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from scanify.verify.cache.audit import hearing

_SYSTEM = ("/proc/", "/sys/", "/dev/")
_LARGE = 64 << 20
_MADE = frozenset({"__pycache__", ".scanify_cache", ".pytest_cache"})
_UNFOLLOWED = {
    "subprocess.Popen": "another program was run",
    "os.system": "another program was run",
    "os.posix_spawn": "another program was run",
    "os.exec": "another program was run",
    "os.fork": "another process was started",
    "os.forkpty": "another process was started",
    "socket.connect": "something was asked of another machine or process",
    "sqlite3.connect": "a database was opened",
}
# Libraries that open files without Python, so that no event is seen.
_BY_THEMSELVES = "h5py lmdb netCDF4 pyarrow rocksdb safetensors tensorstore tiledb tokenizers zarr".split()

_HOOKS = (__name__, hearing.__module__)

# Recorded instead of a name if all variables were read.
_ALL = "*"


@dataclass(frozen=True)
class Consulted:
    """`files` by path and `variables` by name, each with a digest of the contents, None if it did not exist;
    `libraries` by the folder or file of the package, with a digest of the sizes and times of its files; `asked` are
    queried files and folders, `listed` folders whose names were read, and `scanned` folders whose files' sizes and
    times were read, too, each with a digest of that. `unfollowed` are actions that cannot be tracked, `unseen`
    libraries that may have opened files."""

    files: tuple[tuple[str, str | None], ...] = ()
    variables: tuple[tuple[str, str | None], ...] = ()
    libraries: tuple[tuple[str, str], ...] = ()
    asked: tuple[tuple[str, str | None], ...] = ()
    listed: tuple[tuple[str, str | None], ...] = ()
    scanned: tuple[tuple[str, str | None], ...] = ()
    unfollowed: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Return whether everything consulted is known."""
        return not self.unfollowed and not self.unseen

    def holds(self) -> bool:
        """Return whether everything is unchanged."""
        return (
            self.known
            and all(_scanned(path) == known for path, known in self.scanned)
            and all(_asked(path) == known for path, known in self.asked)
            and all(_listed(path) == known for path, known in self.listed)
            and all(_variable(name, dict(os.environ)) == known for name, known in self.variables)
            and all(_file(path) == known for path, known in self.files)
            and all(_library(place) == known for place, known in self.libraries)
        )


@dataclass(eq=False)
class Consulting:
    """Records consultations. `ignored` returns whether a file, by its absolute path, is skipped."""

    ignored: Callable[[str], bool]
    version_of: Callable[[FrameType], str | None] = lambda frame: None
    start: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    files: dict[str, str | None] = field(default_factory=dict)
    variables: dict[str, str | None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    asked: dict[str, str | None] = field(default_factory=dict)
    listed: dict[str, str | None] = field(default_factory=dict)
    scanned: dict[str, str | None] = field(default_factory=dict)
    unfollowed: dict[str, None] = field(default_factory=dict)
    # For these files, record which version has read them, or their folders.
    watched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    looked_by: set[tuple[str, str]] = field(default_factory=set)
    busy: bool = False

    def watch(self, paths: Iterable[Path]) -> None:
        """From now on, record which version reads these files."""
        real = [os.path.realpath(path) for path in paths]
        self.watched = {"asked": frozenset(real), "listed": frozenset(map(os.path.dirname, real))}

    def variable(self, name: str) -> None:
        self.variables.setdefault(name, _variable(name, self.start))

    def opened(self, given: Any, flags: Any) -> None:
        if self.busy or not isinstance(given, str | bytes | os.PathLike) or not isinstance(flags, int):
            return
        path = _source_of(str(Path(os.fsdecode(given)).absolute()))
        self._note_version(path, "asked")
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self.written.add(path)
        elif path not in self.written and path not in self.files and not (self.ignored(path) or _is_compiled(path)):
            self.busy = True  # reading the file opens it
            try:
                self.files[path] = _file(path)
            finally:
                self.busy = False

    def looked(self, given: Any, found: dict[str, str | None], digest_of: Callable[[str], str | None]) -> None:
        """Record what the user's code has queried about a file or a folder."""
        if self.busy or not isinstance(given, str | bytes | os.PathLike):
            return
        path = str(Path(os.fsdecode(given)).absolute())
        self._note_version(path, "asked" if found is self.asked else "listed")
        if path in found or path in self.written or path.startswith(_SYSTEM) or _is_compiled(path) or not self._asks():
            return
        self.busy = True
        try:
            found[path] = digest_of(path)
        finally:
            self.busy = False

    def _note_version(self, path: str, how: str) -> None:
        if not self.watched:
            return
        self.busy = True
        try:
            real = os.path.realpath(path)
        finally:
            self.busy = False
        if real in self.watched[how] and (version := self._version()) is not None:
            self.looked_by.add((version, real))

    def _version(self) -> str | None:
        """Return the innermost version whose code is running, "" if it may be any.

        None for an import statement, and for reads by scanify itself.
        """
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            version = self.version_of(frame)
            if version is not None:
                return version
            module = frame.f_globals.get("__name__", "")
            if "importlib" in frame.f_code.co_filename or (module.startswith("scanify.") and module not in _HOOKS):
                return None
            frame = frame.f_back
        return ""

    def _asks(self) -> bool:
        """Return True if the user's code makes the query, outside of import statements."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if "importlib" in frame.f_code.co_filename:
                return False
            if self.version_of(frame) is not None:
                return True
            frame = frame.f_back
        return False

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self.opened(arguments[0], arguments[2])
        elif event in ("os.listdir", "os.scandir"):
            folder = "." if arguments[0] is None else arguments[0]
            found, digest_of = (self.listed, _listed) if event == "os.listdir" else (self.scanned, _scanned)
            self.looked(folder, found, digest_of)
        elif event in _UNFOLLOWED and self._asks():
            self.unfollowed[_UNFOLLOWED[event]] = None

    def found(self, is_library: Callable[[str], bool], without: Sequence[str]) -> Consulted:
        """Return everything consulted so far, `without` files that are known from elsewhere."""
        known = {path: held for path, held in self.files.items() if path not in set(without)}
        places = {place for module in list(sys.modules.values()) for place in _places(module) if is_library(place)}
        libraries = tuple((place, _library(place)) for place in sorted(places))
        return Consulted(
            tuple(sorted(known.items())),
            tuple(sorted(self.variables.items())),
            libraries,
            tuple(sorted(self.asked.items())),
            tuple(sorted(self.listed.items())),
            tuple(sorted(self.scanned.items())),
            tuple(self.unfollowed),
            tuple(name for name in _BY_THEMSELVES if name in sys.modules),
        )


class _Variables(dict[bytes, bytes]):
    """The variables of `os.environ`, which calls `ask` for each read."""

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
def consulting(
    ignored: Callable[[str], bool], version_of: Callable[[FrameType], str | None] = lambda frame: None
) -> Iterator[Consulting]:
    """Record consultations in this context; `version_of` returns the version of a frame's code, None for others."""
    record = Consulting(ignored, version_of)
    environ: Any = os.environ
    before = environ._data
    watched = _Variables(before, record.variable)
    _put(watched)
    try:
        with hearing(record.hear), _asking(record):
            yield record
    finally:
        before.clear()
        before.update(dict.items(watched))
        _put(before)


@contextmanager
def _asking(record: Consulting) -> Iterator[None]:
    """Record queries about files in this context; Python has no event for them."""
    kept = {name: getattr(os, name) for name in ("stat", "lstat", "access", "readlink")}

    def telling(ask: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(ask)
        def asked(path: Any, *args: Any, **kwargs: Any) -> Any:
            record.looked(path, record.asked, _asked)
            return ask(path, *args, **kwargs)

        return asked

    for name, ask in kept.items():
        setattr(os, name, telling(ask))
    try:
        yield
    finally:
        for name, ask in kept.items():
            setattr(os, name, ask)


def _put(values: dict[bytes, bytes]) -> None:
    views: tuple[Any, ...] = (os.environ, os.environb)
    for each in views:
        each._data = values


def is_systems(path: str) -> bool:
    """True for a file of the system."""
    return path.startswith(_SYSTEM)


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


def _asked(path: str) -> str | None:
    """Return the state of a file or a folder without listing it; None if it does not exist."""
    target = Path(path)
    if target.is_dir():
        return f"folder {target.is_symlink()}"
    return None if not target.is_file() else f"{_file(path)} {target.is_symlink()} {_time(target)}"


def _time(target: Path) -> str:
    """Return when a data file was written; a source file counts by its contents."""
    return "" if target.suffix == ".py" else str(target.stat().st_mtime_ns)


def _listed(path: str) -> str | None:
    """Return the names in a folder, except those made by running Python or scanify."""
    try:
        names = sorted(each.name for each in Path(path).iterdir() if each.name not in _MADE)
    except OSError:
        return None
    return _digest("\0".join(names).encode("utf-8", "surrogateescape"))


def _scanned(path: str) -> str | None:
    """Return the information of `os.scandir` on a folder: its names, and the sizes and times of its data files."""
    try:
        entries = [each for each in os.scandir(path) if each.name not in _MADE]
    except OSError:
        return None
    return _digest("\0".join(sorted(map(_entry, entries))).encode("utf-8", "surrogateescape"))


def _entry(each: os.DirEntry[str]) -> str:
    with suppress(OSError):
        if each.is_file():
            found = each.stat()
            return f"{each.name} {each.is_symlink()} {found.st_size} {_time(Path(each.path))}"
    return f"{each.name} {each.is_symlink()} folder"


def _source_of(path: str) -> str:
    """Return the source file of bytecode; any other file is returned itself."""
    if not path.endswith(".pyc"):
        return path
    try:
        source = importlib.util.source_from_cache(path)
    except ValueError:
        source = path.removesuffix("c")
    return source if Path(source).is_file() else path


def _is_compiled(path: str) -> bool:
    """True for files in jax's compilation cache: results do not depend on whether jax finds a program there."""
    config = getattr(sys.modules.get("jax"), "config", None)
    folder: str = getattr(config, "jax_compilation_cache_dir", None) or ""
    return folder != "" and Path(path).is_relative_to(Path(folder).absolute())


def _library(place: str) -> str:
    """Return a digest of the sizes and times of the Python files and extensions at a place."""
    if Path(place).is_file():
        found = Path(place).stat()
        files = [f"{place}\0{found.st_size}\0{found.st_mtime_ns}\0"]
    else:
        files = sorted(_below(place))
    return _digest("".join(files).encode("utf-8", "surrogateescape"))


def _below(place: str) -> Iterator[str]:
    """Yield path, size and time of each. For thousands of files, directory entries are faster than separate queries."""
    try:
        entries = list(os.scandir(place))
    except OSError:
        return
    for each in entries:
        with suppress(OSError):
            if each.is_dir():
                yield from () if each.is_symlink() else _below(each.path)
            elif each.name.endswith((".py", ".so")):
                found = each.stat()
                yield f"{each.path}\0{found.st_size}\0{found.st_mtime_ns}\0"


def _places(module: object) -> list[str]:
    """Return the place of a top-level module: its file, the folder of a package, or its folders."""
    if not isinstance(module, ModuleType) or "." in module.__name__:
        return []
    file = vars(module).get("__file__")
    if isinstance(file, str):
        return [str(Path(file).parent)] if Path(file).name.startswith("__init__.") else [file]
    return list(getattr(vars(module).get("__spec__"), "submodule_search_locations", None) or ())
