"""What the user's code consults beside the modules that it imports: files, variables of the environment, libraries.

A result holds for as long as all of these stay as they were. Files are those that Python opens to read, those that the
user's code asks about (is it there, how large is it), and folders that it lists; of a module that is loaded from
bytecode it is the source. What a library opens by itself (safetensors, HDF5) is not seen, so where one is
loaded nothing holds. Libraries count by the sizes and times of their files, so that one that is changed in place is
another. What cannot be followed, as another program that is run, is named: then nothing holds.
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
# Libraries that open files without Python, so that nobody hears of it.
_BY_THEMSELVES = "h5py lmdb netCDF4 pyarrow rocksdb safetensors tensorstore tiledb tokenizers zarr".split()

_HOOKS = (__name__, hearing.__module__)

# Stands for the names of all variables.
_ALL = "*"


@dataclass(frozen=True)
class Consulted:
    """`files` by path and `variables` by name, each with a digest of what it held, None where there was none;
    `libraries` by the folder or file of the package, with a digest of the sizes and times of its files; `asked` are
    files and folders that were asked about, `listed` folders whose names were read and `scanned` those of which the
    sizes and times of files were, too, each with a digest of that. `unfollowed` is what was done that cannot be
    followed, `unseen` are the libraries that may have opened files.
    """

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
        """Whether all that was looked at is known."""
        return not self.unfollowed and not self.unseen

    def holds(self) -> bool:
        """Whether all of it is as it was."""
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
    """Takes down what is consulted. `ignored` says of which files, by their absolute paths, nothing is kept."""

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
    # Of these files it is kept which version has looked at them, or at the folders that they are in.
    watched: Mapping[str, frozenset[str]] = field(default_factory=dict)
    looked_by: set[tuple[str, str]] = field(default_factory=set)
    busy: bool = False

    def watch(self, paths: Iterable[Path]) -> None:
        """From now on, keep which version looks at these files."""
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
            self.busy = True  # to look at the file is to open it
            try:
                self.files[path] = _file(path)
            finally:
                self.busy = False

    def looked(self, given: Any, found: dict[str, str | None], digest_of: Callable[[str], str | None]) -> None:
        """Keep what the user's code has asked about a file or a folder."""
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
        """The version whose code is nearest among those that run, "" where it may be any.

        None for an import statement, and where scanify itself looks.
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
        """Whether it is the user's code that asks, and no import statement of it."""
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
        """All that was consulted so far, `without` files that are known otherwise."""
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
def consulting(
    ignored: Callable[[str], bool], version_of: Callable[[FrameType], str | None] = lambda frame: None
) -> Iterator[Consulting]:
    """Inside, what is consulted is taken down; `version_of` says of a frame whose code it is (None: no version's)."""
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
    """Inside, `record` is told what is asked about files; Python has no event for that."""
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
    """Whether a file is one of the system."""
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
    """What is known of a file or a folder without listing it; None where there is none."""
    target = Path(path)
    if target.is_dir():
        return f"folder {target.is_symlink()}"
    return None if not target.is_file() else f"{_file(path)} {target.is_symlink()} {_time(target)}"


def _time(target: Path) -> str:
    """When a data file was written; a source file is what it says."""
    return "" if target.suffix == ".py" else str(target.stat().st_mtime_ns)


def _listed(path: str) -> str | None:
    """The names in a folder, but for those that running Python or scanify makes."""
    try:
        names = sorted(each.name for each in Path(path).iterdir() if each.name not in _MADE)
    except OSError:
        return None
    return _digest("\0".join(names).encode("utf-8", "surrogateescape"))


def _scanned(path: str) -> str | None:
    """What `os.scandir` tells of a folder: its names, and the sizes and times of its data files."""
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
    """The source file of bytecode; any other file is itself."""
    if not path.endswith(".pyc"):
        return path
    try:
        source = importlib.util.source_from_cache(path)
    except ValueError:
        source = path.removesuffix("c")
    return source if Path(source).is_file() else path


def _is_compiled(path: str) -> bool:
    """Whether jax keeps what it has compiled there: it computes the same whether it finds a program or makes it."""
    config = getattr(sys.modules.get("jax"), "config", None)
    folder: str = getattr(config, "jax_compilation_cache_dir", None) or ""
    return folder != "" and Path(path).is_relative_to(Path(folder).absolute())


def _library(place: str) -> str:
    """A digest of the sizes and times of the Python files and extensions at a place."""
    if Path(place).is_file():
        found = Path(place).stat()
        files = [f"{place}\0{found.st_size}\0{found.st_mtime_ns}\0"]
    else:
        files = sorted(_below(place))
    return _digest("".join(files).encode("utf-8", "surrogateescape"))


def _below(place: str) -> Iterator[str]:
    """Path, size and time of each. A library has thousands of them: entries of folders know theirs, paths would ask."""
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
    """Where a module that is in no package lies: its file, or the folder of a package, or its folders."""
    if not isinstance(module, ModuleType) or "." in module.__name__:
        return []
    file = vars(module).get("__file__")
    if isinstance(file, str):
        return [str(Path(file).parent)] if Path(file).name.startswith("__init__.") else [file]
    return list(getattr(vars(module).get("__spec__"), "submodule_search_locations", None) or ())
