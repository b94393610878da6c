"""What a profile answers: the size of the programs that a case starts with, and the source loops it comes from.

Frozen data, without jax, so that the command line and the reports can read it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SourceLoop:
    """A loop of Python source: `file` as it is shown, `path` where it lies, and its head: `for x in self.layers`."""

    file: str
    path: str
    line: int
    head: str


@dataclass(frozen=True)
class Share:
    """The lines of a program that were traced inside of a loop; `depth` is the number of loops with shares around it.

    `turns`: how often the loop ran, as the program shows it; 1 also where it does not show. `scanned`: about how many
    lines less there would be if one turn were traced.
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
    """One program of a case: `name` is constructor, call or gradient (the outputs are part of that).

    `lines` are those of its StableHLO, `outside` those that were traced in no loop. Seconds and bytes are None where
    they were not measured.
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
    """The programs of a case as it is, and after a rewrite where there is one. `notes`: programs that there are not."""

    programs: tuple[Program, ...]
    rewritten: tuple[Program, ...] = ()
    notes: tuple[str, ...] = ()
