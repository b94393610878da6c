"""Find the files that a project imports, even if `exclude`, `.gitignore` or the name of a folder leaves them out."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from scanify.source.file import Source

_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([\w.,\t ]+))",
    re.MULTILINE,
)
_BY_TEXT = re.compile(r"\bimport_module\([ \t\n]*[\"']([\w.]+)[\"']")
_NAME = re.compile(r"[^\W\d]\w*")


def reached(sources: Iterable[Source], root: Path, read: Callable[[Path], Source | None]) -> list[Source]:
    """Return the files below `root` that `sources` import, directly or indirectly, without `sources` themselves.

    An import is looked up in the folders above the importing file, in `root` and `root/src`, and in any other folder of
    the project with a subfolder of its first name. `read` returns the file at a path.
    """
    waiting = list(sources)
    known = {source.path for source in waiting}
    holders: dict[str, set[Path]] = {}
    for path in known:
        for folder in (path, *path.parents):
            if root in folder.parents:
                holders.setdefault(folder.name, set()).add(folder.parent)
    found: list[Source] = []
    while waiting:
        source = waiting.pop()
        for path in _imported(source, root, holders):
            if path not in known:
                known.add(path)
                if (one := read(path)) is not None:
                    found.append(one)
                    waiting.append(one)
    return found


def imports_any(source: Source, names: Iterable[str]) -> bool:
    """True if a file imports a dotted name that contains one of `names`."""
    wanted = set(names)
    return any(wanted.intersection((*parts, *last)) for _, parts, last in _statements(source.text))


def _statements(text: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the imports in a text: the number of leading dots, the dotted name, and the names imported from it."""
    for dots, origin, names, modules in _IMPORT.findall(text):
        if modules:
            for module in modules.split(","):
                parts = _NAME.findall(module.split(" as ")[0])
                yield 0, parts, []
        else:
            taken = [each.split(" as ")[0].strip() for each in names.strip("()").split(",")]
            yield len(dots), _NAME.findall(origin), taken
    for module in _BY_TEXT.findall(text):
        yield 0, module.split("."), []


def _imported(source: Source, root: Path, holders: dict[str, set[Path]]) -> Iterator[Path]:
    """Yield the files that the imports of a file may refer to."""
    folder = source.path.parent
    above = [each for each in (folder, *folder.parents) if each == root or root in each.parents]
    for dots, parts, taken in _statements(source.text):
        if dots:
            base = ([folder, *folder.parents][dots - 1 :] or [folder])[0]
            yield from _files(base, parts, taken)
        elif parts:
            bases = dict.fromkeys([*above, root, root / "src", *sorted(holders.get(parts[0], ()))])
            for base in bases:
                yield from _files(base, parts, taken)


def _files(base: Path, parts: list[str], taken: list[str]) -> Iterator[Path]:
    """Yield the modules along a dotted name from a folder, and the modules among the names imported from it."""
    folder = str(base)
    for part in parts:
        if _is_file(f"{folder}{os.sep}{part}.py"):
            yield Path(f"{folder}{os.sep}{part}.py")
        folder = f"{folder}{os.sep}{part}"
        if not os.path.isdir(folder):  # noqa: PTH112
            return
        if _is_file(f"{folder}{os.sep}__init__.py"):
            yield Path(f"{folder}{os.sep}__init__.py")
    for name in taken:
        for path in (f"{folder}{os.sep}{name}.py", f"{folder}{os.sep}{name}{os.sep}__init__.py"):
            if _is_file(path):
                yield Path(path)


def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113
