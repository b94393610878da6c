"""Which files the paths on the command line stand for."""

import fnmatch
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from scanify.errors import ScanifyError

# Folders that hold no source of the project's own, or copies of it. Hidden folders are left out as well.
LEFT_OUT = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv", "virtualenv"})


def discover(paths: Iterable[Path], *, exclude: Sequence[str] = (), root: Path | None = None) -> tuple[Path, ...]:
    """The Python files that `paths` stand for, each once, in order of the paths and then by name.

    A file that is named is taken, whatever it is called. A folder is walked for `*.py`; hidden folders, those of
    `LEFT_OUT` and whatever matches `exclude` are passed over. A pattern without a slash matches the name of a file or
    folder at any depth; one with a slash matches the path from `root` (the folder of the configuration).

    Raises ScanifyError where a path does not exist, or names a notebook.
    """
    given = list(paths)
    missing = [str(path) for path in given if not path.exists()]
    if missing:
        raise ScanifyError(f"expected files or folders that exist, got {', '.join(missing)}")
    found: dict[Path, Path] = {}
    for path in given:
        for file in _walk(path, exclude, root or Path.cwd()) if path.is_dir() else [_named(path)]:
            found.setdefault(file.resolve(), file)
    return tuple(found.values())


def left_out(name: str) -> bool:
    """Whether a folder of this name is passed over."""
    return name in LEFT_OUT or (name.startswith(".") and name not in (".", ".."))


def _named(path: Path) -> Path:
    if path.suffix == ".ipynb":
        raise ScanifyError(f"{path}: notebooks are not supported yet; export the cells to a .py file")
    if not path.is_file():
        raise ScanifyError(f"{path}: expected a file or a folder, got something else")
    return path


def _walk(top: Path, exclude: Sequence[str], root: Path) -> list[Path]:
    files = []
    for folder, names, filenames in os.walk(top):
        here = Path(folder)
        names[:] = sorted(name for name in names if not left_out(name) and not _excluded(here / name, exclude, root))
        files += [
            here / name
            for name in sorted(filenames)
            if name.endswith(".py") and (here / name).is_file() and not _excluded(here / name, exclude, root)
        ]
    return sorted(files)


def _excluded(path: Path, patterns: Sequence[str], root: Path) -> bool:
    if not patterns:
        return False
    absolute = path.absolute()
    relative = absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else absolute.as_posix()
    for pattern in (each.rstrip("/") for each in patterns):
        if fnmatch.fnmatchcase(relative if "/" in pattern else path.name, pattern.lstrip("/")):
            return True
    return False
