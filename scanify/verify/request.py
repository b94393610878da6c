"""The request to the child process that runs one case, and its response."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from scanify.verify.cache.consulted import Consulted
from scanify.verify.cases.case import CaseSpec
from scanify.verify.mesh.axes import Axes
from scanify.verify.verdict import CaseResult

# The comparer that compares nothing, and reports which watched loops a case or a command runs.
REACHED = "scanify.verify.cases.reached:reached_case"


@dataclass(frozen=True)
class Change:
    """One file's bytes before and after the rewrite, None if it does not exist. `path` is absolute."""

    path: Path
    original: bytes | None
    rewritten: bytes | None


@dataclass(frozen=True)
class Tree:
    """The folder `copy` with the original's whole tree, and the folder `here` of which it is another state."""

    copy: Path
    here: Path

    def place(self, path: Path) -> Path:
        """Return the place in the tree for `path`; a path outside of it is unchanged."""
        return self.copy / path.relative_to(self.here) if path.is_relative_to(self.here) else path


@dataclass(frozen=True)
class Loops:
    """The loops of a file that begin on these lines of the original. `path` is absolute."""

    path: Path
    lines: tuple[int, ...]


class Runs(TypedDict, total=False):
    """Fields of a `Request` for runs of a case that compare nothing."""

    mesh: Axes
    steps: int
    watched: tuple[Loops, ...]


class Extras(Runs, total=False):
    """Fields of a `Request` for work on a case besides the comparison."""

    execute: bool
    paced: str


@dataclass(frozen=True)
class Request:
    """One case to run: its module is the file `target`, which need not be among the `changes`.

    `rewritten_target` is set if the rewritten version was written by hand: the file of the case's module there, which
    may be `target` itself. Each version then imports from the directories of its own target alone. `policies` are remat
    policies by their names on the command line (None: as written), `requested` the policy for the rewrite. File names
    are displayed relative to `directory`. `comparer` is the function, `module:name`, that compares the two versions
    (with the signature of `scanify.verify.compare.compare.compare_case`). If the original comes from another state of
    the whole project, that is in `tree`, and `data` are the data files that differ: the original must not read those of
    the current tree. Proofs are written to the folder `certificates`, a file for each variant. With `execute` proved
    programs are compiled and run, too. With a `mesh`, the process has as many virtual devices, and the mesh is passed
    to the comparer. `steps` is the number of training steps of both versions, 0 for none. `paced` selects what is timed
    in passing (`scanify.verify.measure.in_passing`). For a command, calls are recorded of the functions with the loops
    that the rewrite removes, or with those `watched`.
    """

    case: CaseSpec
    target: Path
    changes: tuple[Change, ...]
    policies: tuple[str | None, ...]
    requested: str | None
    abstract: bool
    measure: bool
    directory: Path
    rewritten_target: Path | None = None
    comparer: str = "scanify.verify.compare.compare:compare_case"
    data: tuple[Path, ...] = ()
    tree: Tree | None = None
    certificates: Path | None = None
    execute: bool = False
    mesh: Axes = ()
    paced: str = ""
    steps: int = 0
    watched: tuple[Loops, ...] = ()


@dataclass(frozen=True)
class Read:
    """The imports of one version among the user's files: the SHA-256 of each by its path, and missing files.

    `missed` are paths that were looked for first: an existing file would have been imported.
    """

    files: tuple[tuple[str, str], ...] = ()
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Response:
    """The results of the case, one for each variant, the defaults first, and what both versions imported and consulted.
    `other_data`: there is no verdict, as the code reads data files that differ in the original.

    It does not contain the user's output, which only the parent sees.
    """

    results: tuple[CaseResult, ...]
    original: Read = Read()
    rewritten: Read = Read()
    consulted: Consulted = field(default_factory=Consulted)
    other_data: bool = False
