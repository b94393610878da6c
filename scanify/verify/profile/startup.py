"""The results of a profile: the size of the startup programs of a case, and the source loops behind it.

Frozen data, without jax, so that the command line and the reports can read it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLoop:
    """A loop of Python source: `file` is its displayed name, `path` its location, `head` is `for x in self.layers`."""

    file: str
    path: str
    line: int
    head: str


@dataclass(frozen=True)
class Share:
    """The lines of a program that were traced in a loop; `depth` is the number of enclosing loops with shares.

    `turns`: the number of iterations that the program shows; 1 also if it does not show. `scanned`: about how many
    lines would be saved if one iteration were traced.
    """

    loop: SourceLoop
    depth: int
    lines: int
    turns: int

    @property
    def scanned(self) -> int:
        return self.lines - self.lines // max(1, self.turns)


@dataclass(frozen=True)
class Program:
    """One program of a case: `name` is constructor, call or gradient (which includes the outputs).

    `lines` are those of its StableHLO, `outside` those traced outside of loops. Seconds and bytes are None if they were
    not measured.
    """

    name: str
    lines: int
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float | None = None
    temp_bytes: int | None = None
    shares: tuple[Share, ...] = ()
    outside: int = 0


@dataclass(frozen=True)
class Startup:
    """The programs of a case as written, and after a rewrite if there is one. `notes`: missing programs."""

    programs: tuple[Program, ...]
    rewritten: tuple[Program, ...] = ()
    notes: tuple[str, ...] = ()
