"""The files of a project, whether they are named or not."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from scanify.source.discover import SUFFIXES, Selection, entries, is_file, walk
from scanify.source.file import Source
from scanify.source.reached import imports_any
from scanify.source.read import read
from scanify.source.root import is_marked, normal


def project_files(selection: Selection, named: Iterable[Path]) -> Callable[[], list[Path]]:
    """Return what lists a project's files: those that `exclude` leaves out are not reported, and yet known.

    Where nothing marks a project, as in a home folder, it is what the folders that were `named` hold, and of each
    file that was named its package, and the files beside it that import that.
    """
    everything = replace(selection, exclude=())
    tops = [selection.root] if is_marked(str(selection.root)) else [normal(path) for path in named]

    def listed() -> list[Path]:
        found = (walk(top, everything) if top.is_dir() else _package(top) for top in tops)
        return [normal(path) for path in dict.fromkeys(path for each in found for path in each)]

    return listed


def _package(file: Path) -> list[Path]:
    """Return the files of the package that a file is part of, and those beside the package that import it.

    A file outside of a package is one by itself.
    """
    top, name = file.parent, file.stem
    while (top / "__init__.py").is_file() and top.parent != top:
        top, name = top.parent, top.name
    own = walk(top / name, Selection(top)) if top != file.parent else [file]
    beside = (top / entry.name for entry in entries(str(top)) if entry.name.endswith(SUFFIXES) and is_file(entry))
    found = (one for path in sorted(beside) if path not in own and isinstance(one := read(path), Source))
    return [*own, *(one.path for one in found if imports_any(one, [name]))]
