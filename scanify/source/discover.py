"""Find the source files that the paths on the command line refer to."""

import fnmatch
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.source.ignore import Ignore, ignore_above
from scanify.source.notebook.text import SUFFIX
from scanify.source.root import normal

SUFFIXES = (".py", ".pyw", SUFFIX)

# Folders without source of the project itself, or with copies of it. Hidden folders are left out as well.
LEFT_OUT = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv", "virtualenv"})


@dataclass(frozen=True)
class Selection:
    """Selects the files of a project: all except those that match `exclude` or are ignored by git.

    A pattern without a slash matches the name of a file or folder at any depth; one with a slash matches the path from
    `root`, the folder of the configuration.
    """

    root: Path
    exclude: tuple[str, ...] = ()
    gitignore: bool = True

    def excluded_by(self, path: Path) -> str | None:
        """Return the pattern that excludes a file or a folder above it, or None."""
        root = normal(self.root)
        for part in (path, *path.parents):
            if part == root or (part != path and root not in part.parents):
                return None
            for pattern in self.exclude:
                if _matches(str(part), part.name, pattern, str(root)):
                    return pattern
        return None


def discover(paths: Iterable[Path], selection: Selection) -> tuple[Path, ...]:
    """Return the Python files and notebooks in `paths`, without duplicates, ordered by path argument and then by name.

    A file named explicitly is included whatever its name, unless it is excluded. Folders are searched for `*.py`,
    `*.pyw`, `*.ipynb` and files without a suffix whose first line runs Python. Hidden folders, folders in `LEFT_OUT`,
    virtual environments, and excluded or ignored folders are skipped.

    Raises ScanifyError if a path does not exist.
    """
    given = list(paths)
    missing = [str(path) for path in given if not path.exists()]
    if missing:
        raise ScanifyError(f"expected files or folders that exist, got {', '.join(missing)}")
    found: dict[Path, Path] = {}
    for path in given:
        for file in walk(path, selection) if path.is_dir() else _named(path, selection):
            found.setdefault(file.resolve(), file)
    return tuple(found.values())


def left_out(name: str) -> bool:
    """True if folders with this name are skipped."""
    return name in LEFT_OUT or (name.startswith(".") and name not in (".", ".."))


def is_foreign(name: str) -> bool:
    """True if no import of the project refers to a folder of this name: hidden folders and installed packages."""
    return left_out(name) and name not in ("build", "dist")


def _named(path: Path, selection: Selection) -> Iterator[Path]:
    if not path.is_file():
        raise ScanifyError(f"{path}: expected a file or a folder, got something else")
    if selection.excluded_by(normal(path)) is None:
        yield path


def walk(top: Path, selection: Selection) -> list[Path]:
    """Return the Python files and notebooks below a folder, sorted by path."""
    absolute = normal(top)
    if absolute != normal(selection.root) and selection.excluded_by(absolute) is not None:
        return []
    # Paths are strings here, since creating a `Path` for each name takes longer than the whole search.
    spelled, full, root = str(top), str(absolute), str(normal(selection.root))
    files: list[str] = []
    waiting = [("", ignore_above(absolute) if selection.gitignore else Ignore())]
    while waiting:
        inside, rules = waiting.pop()
        for entry in entries(full + inside):
            name, below = entry.name, f"{inside}{os.sep}{entry.name}"
            folder = _is_folder(entry)
            if folder and (left_out(name) or entry.is_symlink()):
                continue
            script = not folder and "." not in name
            if not folder and not ((script or name.endswith(SUFFIXES)) and is_file(entry)):
                continue
            path = full + below
            if any(_matches(path, name, pattern, root) for pattern in selection.exclude):
                continue
            if rules.rules and rules.leaves_out(Path(path).as_posix(), folder=folder):
                continue
            if script and not _runs_python(path):
                continue
            if not folder:
                files.append(below)
            elif not os.path.exists(os.path.join(path, "pyvenv.cfg")):  # noqa: PTH110, PTH118
                waiting.append((below, rules.within(Path(path)) if selection.gitignore else rules))
    return sorted(Path(spelled + below) for below in files)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symbolic link to itself
        return False


def is_file(entry: "os.DirEntry[str]") -> bool:
    """True for a file or a link to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _runs_python(path: str) -> bool:
    """True if the first line runs Python: `#!/usr/bin/env python3`."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            first = file.readline(256)
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def entries(folder: str) -> "list[os.DirEntry[str]]":
    """List a folder; empty if that is not allowed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _matches(path: str, name: str, pattern: str, root: str) -> bool:
    pattern = pattern.rstrip("/")
    if "/" not in pattern:
        return fnmatch.fnmatchcase(name, pattern)
    inside = path[len(root) + 1 :] if path.startswith(root.rstrip(os.sep) + os.sep) else path
    return fnmatch.fnmatchcase(inside.replace(os.sep, "/"), pattern.lstrip("/"))
