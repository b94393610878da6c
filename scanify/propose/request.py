"""What the parent asks of the child process that proposes a case for one class, and what it answers."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ask:
    """A class to propose a case for, by its qualified name, and the loops that the case must run.

    `cls` is None where the loops are in no class. `methods` are those that hold them. `spans` are the first and the
    last lines of their bodies in `target`, an absolute path, of which the case must run one; without any, any call will
    do. `others` allows other classes of the file that run the same loops. After `seconds` nothing new is tried.
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
    """A case: the class that it builds, the name and the text of its function, and the lines of import it needs."""

    cls: str
    function: str
    text: str
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Declined:
    """A class or a function without a case, and the reasons. `cls` is None for loops that are in no class; `imports`
    says whether the file could be imported."""

    cls: str | None
    reasons: tuple[str, ...]
    imports: bool = True

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons)


@dataclass(frozen=True)
class Written:
    """The cases that a run's calls of these `functions` were written as, and the functions without a case."""

    cases: tuple[Proposed, ...] = ()
    functions: tuple[str, ...] = ()
    declined: tuple[Declined, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A case, or the reasons why there is none: what was tried, and what came of it. `imports`: does the file?"""

    case: Proposed | None = None
    reasons: tuple[str, ...] = ()
    imports: bool = True
