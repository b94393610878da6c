"""List the files of a project, including those not named on the command line."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from scanify.source.discover import SUFFIXES, Selection, entries, is_file, walk
from scanify.source.file import Source
from scanify.source.reached import imports_any
from scanify.source.read import read
from scanify.source.root import is_marked, normal


def project_files(selection: Selection, named: Iterable[Path]) -> Callable[[], list[Path]]:
    """Return a function that lists a project's files. Files matching `exclude` are included, since others may import
    them.

    If nothing marks a project, as in a home folder, these are the contents of the `named` folders and, for each named
    file, its package and the neighbouring files that import it.
    """
    everything = replace(selection, exclude=())
    tops = [selection.root] if is_marked(str(selection.root)) else [normal(path) for path in named]

    def listed() -> list[Path]:
        found = (walk(top, everything) if top.is_dir() else _package(top) for top in tops)
        return [normal(path) for path in dict.fromkeys(path for each in found for path in each)]

    return listed


def _package(file: Path) -> list[Path]:
    """Return the files of a file's package, and the files next to the package that import it.

    A file outside of a package is treated as a package of its own.
    """
    top, name = file.parent, file.stem
    while (top / "__init__.py").is_file() and top.parent != top:
        top, name = top.parent, top.name
    own = walk(top / name, Selection(top)) if top != file.parent else [file]
    beside = (top / entry.name for entry in entries(str(top)) if entry.name.endswith(SUFFIXES) and is_file(entry))
    found = (one for path in sorted(beside) if path not in own and isinstance(one := read(path), Source))
    return [*own, *(one.path for one in found if imports_any(one, [name]))]
