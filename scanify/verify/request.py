"""What the parent asks of the child process that runs one case, and what it answers."""

from dataclasses import dataclass
from pathlib import Path

from scanify.verify.case import CaseSpec
from scanify.verify.verdict import CaseResult


@dataclass(frozen=True)
class Change:
    """One file's bytes before and after the rewrite. `path` is absolute."""

    path: Path
    original: bytes
    rewritten: bytes


@dataclass(frozen=True)
class Request:
    """One case to run: its module is the file `target`, which need not be among the `changes`.

    `policies` are remat policies by their names on the command line (None: as written), `requested` the one that the
    rewrite was asked for.
    `directory` is what file names are shown relative to. `comparer` is the function, `module:name`, that compares the
    two versions (the signature of `scanify.verify.compare.compare_case`).
    """

    case: CaseSpec
    target: Path
    changes: tuple[Change, ...]
    policies: tuple[str | None, ...]
    requested: str | None
    abstract: bool
    measure: bool
    directory: Path
    comparer: str = "scanify.verify.compare:compare_case"


@dataclass(frozen=True)
class Response:
    """The results of the case, one for each variant of it, the defaults first.

    They say nothing about the user's output, which only the parent sees.
    """

    results: tuple[CaseResult, ...]
