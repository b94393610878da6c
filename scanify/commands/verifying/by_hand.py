"""Changes made by hand: two files, or the working tree compared with a git revision."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scanify.commands.verifying.target import target_of
from scanify.configuration.config import Config
from scanify.errors import ScanifyError
from scanify.report.diff import render
from scanify.report.sentences import shown
from scanify.report.terminal import tell
from scanify.source.file import Source
from scanify.source.git import changed_since, top_of
from scanify.source.read import decode
from scanify.source.revision import files_differing, tree_of
from scanify.source.root import normal
from scanify.verify.cases.case import CaseSpec
from scanify.verify.request import Tree


class NewFile(ScanifyError):
    """Raised for a file that does not exist in the revision, so that there is nothing to compare it with."""


@dataclass(frozen=True)
class ByHand:
    """Both versions of every changed file, and the file whose module is passed to the cases in each version.

    `data` lists other files that differ; `tree` provides the original version together with its own data files.
    """

    changes: Mapping[Path, tuple[bytes | None, bytes | None]]
    target: Path
    rewritten_target: Path
    data: tuple[Path, ...] = ()
    tree: "Callable[[], AbstractContextManager[Tree]] | None" = None

    def diff(self, folder: Path) -> str:
        """The change as a unified diff, with paths relative to `folder`."""
        if self.target != self.rewritten_target:
            texts = [_text(path, self.changes[path][0]) for path in (self.target, self.rewritten_target)]
            renamed = {self.target: self.rewritten_target}
            return render({self.target: texts[0]}, {self.target: texts[1]}, folder, renamed=renamed)
        before, after = ({path: _text(path, texts[at]) for path, texts in self.changes.items()} for at in range(2))
        return render(before, after, folder)


def two_files(before: str, after: str) -> ByHand:
    """Return the change from the file `before` to the file `after`. Each is imported from its own location."""
    paths = [normal(Path(name)) for name in (before, after)]
    for option, name, path in zip(("--before", "--after"), (before, after), paths, strict=True):
        demand_file(name, option)
        if path.suffix != ".py":
            raise ScanifyError(f"{option}: only Python files (.py) can be verified; got {name}")
    texts = {path: path.read_bytes() for path in paths}
    if len({path.resolve() for path in paths}) == 1:
        raise ScanifyError(f"--before and --after are the same file, {before}: there is nothing to compare")
    return ByHand({path: (data, data) for path, data in texts.items()}, paths[0], paths[1])


def since(revision: str, file: str | None, cases: Collection[Path]) -> ByHand:
    """Return the change from `revision` to the working tree, in all Python files of the repository except `cases`.

    The cases are called with the module of `file`, by default the only file that changed. Raises ScanifyError if no
    file or several files changed, or if the file is not in both versions.
    """
    path = None if file is None else normal(Path(file))
    if file is not None and path is not None:
        demand_file(file, "--against", f"the working tree has no such file to compare with that in {revision}")
    own = {case.resolve() for case in cases}
    changes = changed_since(revision, Path.cwd() if path is None else path.parent)
    changes = {each: texts for each, texts in changes.items() if each.resolve() not in own}
    data = files_differing(revision, Path.cwd() if path is None else path.parent)
    if not changes and (path is None or not data):
        more = "" if not data else "; name the file that the cases are for"
        raise ScanifyError(f"nothing to verify: no Python file differs between {revision} and the working tree{more}")
    if path is None:
        path = _only(changes, revision)
    real = path.resolve()
    if any(each.resolve() == real and before is None for each, (before, _) in changes.items()):
        raise NewFile(
            f"{shown(path, Path.cwd())} does not exist in {revision}: there is nothing to compare it with; name the "
            "old file and the new one with --before and --after"
        )
    if not changes:
        changes = {path: (path.read_bytes(),) * 2}
    return ByHand(changes, path, path, data, partial(_tree, revision, path.parent))


def since_for_runs(revision: str) -> ByHand:
    """Return the change from `revision` to the working tree for recorded calls, in all Python files.

    Each version of a program runs with its own files. Raises ScanifyError like `since`.
    """
    both = [path for path, texts in changed_since(revision, Path.cwd()).items() if None not in texts]
    return since(revision, os.fspath(both[0]) if both else None, ())


def since_by_case(
    revision: str, cases: Sequence[CaseSpec], config: Config
) -> list[tuple[ByHand, tuple[CaseSpec, ...]]]:
    """Return the change for each group of cases that share a target file (see `target_of`).

    Without a target, a case is for the only file that changed. A case whose file is new is reported and left out if
    other cases remain. Raises ScanifyError like `since`.
    """
    runs = tuple(case for case in cases if case.command is not None)
    if runs:
        rest = [case for case in cases if case.command is None]
        return [(since_for_runs(revision), runs), *(since_by_case(revision, rest, config) if rest else ())]
    names = {text: name for name, text in config.cases}
    files: dict[str | None, list[CaseSpec]] = {}
    unclear = ""
    for case in cases:
        try:
            found = str(target_of(names.get(case.text, case.function), case, config))
        except ScanifyError as error:
            found, unclear = None, str(error)
        files.setdefault(found, []).append(case)
    changes, new = [], []
    own = [case.path for case in cases]
    for file, its in files.items():
        try:
            changes.append((since(revision, file, own), tuple(its)))
        except NewFile as error:
            new.append(str(error))
        except ScanifyError as error:
            raise ScanifyError(str(error) if file is not None else f"{error}. {unclear}") from None
    if not changes:
        raise ScanifyError("; ".join(new))
    for said in new:
        tell(f"scanify: not verified: {said}", err=True)
    return changes


@contextmanager
def _tree(revision: str, folder: Path) -> "Iterator[Tree]":
    with tree_of(revision, folder) as copy:
        yield Tree(copy, top_of(folder))


def demand_file(name: str, option: str = "", else_: str = "") -> None:
    """Raise ScanifyError, naming the option, if `name` is not a file."""
    if Path(name).is_file():
        return
    head = f"{option}: " if option else ""
    what = "is a folder" if Path(name).is_dir() else "does not exist"
    raise ScanifyError(f"{head}expected a Python file, got {name}, which {what}{f'; {else_}' if else_ else ''}")


def _only(changes: Mapping[Path, tuple[bytes | None, bytes | None]], revision: str) -> Path:
    found = [path for path, texts in changes.items() if None not in texts]
    if len(found) == 1:
        return found[0]
    names = ", ".join(shown(path, Path.cwd()) for path in found[:6]) + (", ..." if len(found) > 6 else "")
    many = f"{len(found)} files changed since {revision} ({names})" if found else f"none is in both {revision} and here"
    raise ScanifyError(f"a case is given the module of one file, and {many}; name the one that the cases are for")


def _text(path: Path, data: bytes | None) -> str:
    source = decode(path, data or b"")
    return source.text if isinstance(source, Source) else (data or b"").decode("latin-1")
