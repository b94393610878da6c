"""Which files the paths on the command line stand for."""

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

# Folders that hold no source of the project's own, or copies of it. Hidden folders are left out as well.
LEFT_OUT = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv", "virtualenv"})


@dataclass(frozen=True)
class Selection:
    """Which of the files in a project are meant: all but those that match `exclude`, or that git ignores.

    A pattern without a slash matches the name of a file or folder at any depth; one with a slash matches the path from
    `root`, the folder of the configuration.
    """

    root: Path
    exclude: tuple[str, ...] = ()
    gitignore: bool = True

    def excluded_by(self, path: Path) -> str | None:
        """The pattern that leaves out a file, by itself or with a folder that it is in."""
        root = normal(self.root)
        for part in (path, *path.parents):
            if part == root or (part != path and root not in part.parents):
                return None
            for pattern in self.exclude:
                if _matches(str(part), part.name, pattern, str(root)):
                    return pattern
        return None


def discover(paths: Iterable[Path], selection: Selection) -> tuple[Path, ...]:
    """The Python files and notebooks that `paths` stand for, each once, in order of the paths and then by name.

    A file that is named is taken, whatever it is called, unless it is excluded. A folder is searched for `*.py`,
    `*.pyw`, `*.ipynb` and files without a suffix whose first line runs Python; hidden folders, those of `LEFT_OUT`,
    virtual environments and what is excluded or ignored are not looked into.

    Raises ScanifyError where a path does not exist.
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
    """Whether a folder of this name is passed over."""
    return name in LEFT_OUT or (name.startswith(".") and name not in (".", ".."))


def is_foreign(name: str) -> bool:
    """True for a folder whose modules no import of the project means: hidden ones, and those of installed packages."""
    return left_out(name) and name not in ("build", "dist")


def _named(path: Path, selection: Selection) -> Iterator[Path]:
    if not path.is_file():
        raise ScanifyError(f"{path}: expected a file or a folder, got something else")
    if selection.excluded_by(normal(path)) is None:
        yield path


def walk(top: Path, selection: Selection) -> list[Path]:
    """The Python files and notebooks below a folder, in order of their paths."""
    absolute = normal(top)
    if absolute != normal(selection.root) and selection.excluded_by(absolute) is not None:
        return []
    # Paths are texts here: making a `Path` of each name takes longer than listing them all.
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
    except OSError:  # a link to itself
        return False


def is_file(entry: "os.DirEntry[str]") -> bool:
    """True for a file, and for a link to one."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _runs_python(path: str) -> bool:
    """True if the first line of a file says that Python runs it: `#!/usr/bin/env python3`."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            first = file.readline(256)
    except OSError:
        return False
    return first.startswith(b"#!") and b"python" in first


def entries(folder: str) -> "list[os.DirEntry[str]]":
    """Return what a folder holds; nothing if it cannot be listed."""
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
