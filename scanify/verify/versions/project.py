"""The user's own files, their import names, and their displayed names."""

import os
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scanify.verify.request import Tree

_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


IsFile = Callable[[Path], bool]


def import_root(path: Path, is_file: IsFile = Path.is_file) -> Path:
    """Return the directory from which the file at `path` is imported: the first one upwards that is not a package.

    `is_file` tests whether a file exists.
    """
    directory = path.parent
    while is_file(directory / "__init__.py") and directory.parent != directory:
        directory = directory.parent
    return directory


def module_name(path: Path, is_file: IsFile = Path.is_file) -> str:
    """Return the dotted name under which the file at `path` is imported from its import root."""
    parts = path.relative_to(import_root(path, is_file)).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def is_installed(path: Path) -> bool:
    """True if the file belongs to an installed package rather than to somebody's project."""
    return _is_installed(str(path))


@dataclass(frozen=True)
class Project:
    """The user's files: those below `roots` that belong neither to Python, nor to an installed package, nor to scanify.

    `search` are the directories to import from before all others, `fallback` those to import from after all others;
    displayed names are relative to `directory`. Files of another state of the project, in `tree`, are displayed like
    their counterparts here.
    """

    roots: tuple[Path, ...]
    search: tuple[Path, ...]
    directory: Path
    fallback: tuple[Path, ...] = ()
    tree: Tree | None = None

    @classmethod
    def around(cls, files: Iterable[Path], case: Path, directory: Path, tree: Tree | None = None) -> "Project":
        """Build the project of the rewritten `files` and the file of the `case`; `tree` holds another state of it."""
        files = tuple(files)
        search = search_places(files, case)
        marked = [found for file in (*files, case) if (found := project_directory(file)) is not None]
        # Packages without `__init__.py` are imported from the project's directory, or from the working directory.
        fallback = [place for place in (directory, *marked, *(each / "src" for each in marked)) if place.is_dir()]
        return cls(
            tuple(dict.fromkeys([*search, *marked])),
            search,
            directory,
            tuple(place for place in dict.fromkeys(fallback) if place not in search),
            tree,
        )

    def owns(self, file: str) -> bool:
        """Return True if `file`, an absolute path, is the user's own source."""
        return any(below(file, root) for root in self._roots) and not self.is_foreign(file)

    def is_foreign(self, file: str) -> bool:
        """Return True if `file` belongs to Python, to an installed package, or to scanify."""
        return any(below(file, other) for other in self._foreign) or _is_installed(file)

    def is_own_or_python(self, file: str) -> bool:
        """Return True if `file` belongs to scanify, or to Python itself."""
        return not _is_installed(file) and any(below(file, other) for other in self._foreign)

    def display(self, file: str) -> str:
        """Return the displayed name of a file of the project: relative to `directory`, or else to its import root."""
        if self.tree is not None and below(file, str(self.tree.copy)):
            return self.display(str(self.tree.here / os.path.relpath(file, self.tree.copy)))
        if below(file, str(self.directory)):
            return os.path.relpath(file, self.directory)
        above = [root for root in self._roots if below(file, root)]
        return os.path.relpath(file, max(above, key=len)) if above else file

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(form for root in self.roots for form in (str(root), os.path.realpath(root))))

    @cached_property
    def _foreign(self) -> tuple[str, ...]:
        scanify = str(Path(__file__).resolve().parents[2])
        standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
        return tuple(dict.fromkeys([scanify, *standard, *map(os.path.realpath, standard)]))


def search_places(files: Iterable[Path], case: Path, is_file: IsFile = Path.is_file) -> tuple[Path, ...]:
    """Return the directories that the `files`, and the file of the `case`, are imported from."""
    places = [*(import_root(file, is_file) for file in files), case.parent, import_root(case, is_file)]
    return tuple(dict.fromkeys(places))


def _is_installed(file: str) -> bool:
    return any(part in file for part in _INSTALLED)


def project_directory(file: Path) -> Path | None:
    """Return the nearest folder above `file` with a mark of a project, such as `pyproject.toml`; None without one."""
    return next((above for above in file.parents if any((above / marker).exists() for marker in _MARKERS)), None)


def below(file: str, directory: str) -> bool:
    """True if the path `file` lies in `directory` or in a directory inside it."""
    return file.startswith(directory if directory.endswith(os.sep) else directory + os.sep)
