"""What the parent asks of the child process that runs one case, and what it answers."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from scanify.verify.cache.consulted import Consulted
from scanify.verify.cases.case import CaseSpec
from scanify.verify.mesh.axes import Axes
from scanify.verify.verdict import CaseResult

# The comparer that compares nothing, and gives what a case or a command runs of the watched loops.
REACHED = "scanify.verify.cases.reached:reached_case"


@dataclass(frozen=True)
class Change:
    """One file's bytes before and after the rewrite, None where it does not exist. `path` is absolute."""

    path: Path
    original: bytes | None
    rewritten: bytes | None


@dataclass(frozen=True)
class Tree:
    """The folder `copy` with the original's whole tree, and the folder `here` that it is another state of."""

    copy: Path
    here: Path

    def place(self, path: Path) -> Path:
        """Where the tree has what lies at `path`; a path outside of it is itself."""
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

    `rewritten_target` is set where somebody wrote the rewritten version by hand: the file that is the module of the
    case there, which may be `target` itself. Each version then imports from the directories of its own target alone.
    `policies` are remat policies by their names on the command line (None: as written), `requested` the one that the
    rewrite was asked for.
    `directory` is what file names are shown relative to. `comparer` is the function, `module:name`, that compares the
    two versions (the signature of `scanify.verify.compare.compare.compare_case`). Where the original comes from another
    state of the whole project, that is in `tree`, and `data` are the files beside Python's that differ: the original
    must not look at those of here. Into the folder `certificates` what is proved is written, a file for each variant.
    With `execute` what is proved is compiled and run, too. Where there is a `mesh`, the process has as many virtual
    devices, and the comparer is given it. `steps` is how many both versions are trained for, 0 for none. `paced` says
    what is timed in passing (`scanify.verify.measure.in_passing`). Calls of a command are recorded of the functions
    with the loops that the rewrite takes out, or with those `watched`.
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
    """What one version imported of the user's files: the SHA-256 of each by its path, and files that were not there.

    `missed` are paths that were looked for first: had there been a file, it would have been imported.
    """

    files: tuple[tuple[str, str], ...] = ()
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Response:
    """The results of the case, one for each variant of it, the defaults first, and what both versions imported and
    consulted beside. `other_data`: there is no verdict, as the code looks at data files that differ for the original.

    They say nothing about the user's output, which only the parent sees.
    """

    results: tuple[CaseResult, ...]
    original: Read = Read()
    rewritten: Read = Read()
    consulted: Consulted = field(default_factory=Consulted)
    other_data: bool = False
