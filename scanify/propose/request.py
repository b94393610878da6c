"""Requests to the child process that proposes a case for one class, and its answers."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ask:
    """A class to propose a case for, by its qualified name, and the loops that the case must run.

    `cls` is None if the loops are in no class. `methods` are the methods that contain them. `spans` are the first and
    last lines of the loops' bodies in `target`, an absolute path; the case must run one of them, or any code if there
    are none. `others` allows other classes of the file that run the same loops. After `seconds`, the search ends.
    """

    target: Path
    directory: Path
    cls: str | None
    methods: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    others: bool = False
    seconds: float = 60.0


@dataclass(frozen=True)
class Proposed:
    """A case: the class that it builds, the name and source of its function, and the imports it needs."""

    cls: str
    function: str
    text: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Declined:
    """A class or function without a case, and the reasons. `cls` is None for loops that are in no class.

    `imports` is true if the file could be imported.
    """

    cls: str | None
    reasons: tuple[str, ...]
    imports: bool = True

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)


@dataclass(frozen=True)
class Written:
    """The cases written from a run's calls of these `functions`, and the functions without a case."""

    cases: tuple[Proposed, ...] = ()
    functions: tuple[str, ...] = ()
    declined: tuple[Declined, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A case, or the reasons for its absence. `imports` is true if the file could be imported."""

    case: Proposed | None = None
    reasons: tuple[str, ...] = ()
    imports: bool = True
