"""The top folder of the project that contains some paths."""

import os
from collections.abc import Iterable
from pathlib import Path

_MARKS = ("pyproject.toml", ".git", "setup.cfg", "setup.py")


def project_root(paths: Iterable[Path]) -> Path:
    """Return the nearest folder at or above all `paths` with a pyproject.toml, a .git, a setup.cfg or a setup.py.

    Without any, return the folder that contains them all, or the one above the package that contains them.
    """
    top = common_folder(paths)
    for folder in (top, *top.parents):
        if is_marked(str(folder)):
            return folder
    while (top / "__init__.py").is_file() and top.parent != top:
        top = top.parent
    return top


def is_marked(folder: str) -> bool:
    """True if a folder is marked as the top of a project; false if it cannot be read."""
    return any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS)  # noqa: PTH110, PTH118


def common_folder(paths: Iterable[Path]) -> Path:
    """Return the deepest folder that contains all of `paths`, or the working directory for none."""
    absolute = [normal(path) for path in paths]
    folders = [path if path.is_dir() else path.parent for path in absolute]
    try:
        return Path(os.path.commonpath(folders)) if folders else Path.cwd()
    except ValueError:  # different drives
        return folders[0]


def normal(path: Path) -> Path:
    """Return an absolute path without `..`; symbolic links are kept."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # Path.resolve follows links, Path.absolute keeps `..`
