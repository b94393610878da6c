"""The data of a profile report: cases, the findings of `check` on their loops, and the budget."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scanify.verify.profile.startup import Program, Share, SourceLoop
from scanify.verify.verdict import CaseResult


@dataclass(frozen=True)
class Profile:
    """The profiled cases, and the findings on loops by file and line; `budget` is in StableHLO lines."""

    cases: tuple[CaseResult, ...]
    said: Mapping[tuple[str, int], str]
    versions: tuple[tuple[str, str], ...]
    budget: int | None = None

    @property
    def failed(self) -> bool:
        return any(case.startup is None for case in self.cases)

    def advice(self, loop: SourceLoop) -> str:
        """The advice on a loop, or "" without any."""
        return self.said.get((loop.path, loop.line), "")

    def over(self) -> Iterator[str]:
        """Yield a sentence for each program above the budget, naming its largest loop."""
        if self.budget is None:
            return
        for case in self.cases:
            for program in case.startup.programs if case.startup is not None else ():
                if program.lines > self.budget:
                    yield (
                        f"{case.name}: the {program.name} has {program.lines:,} StableHLO lines, more than the budget "
                        f"of {self.budget:,}{_blamed(program)}"
                    )


def _blamed(program: Program) -> str:
    share = program.largest
    if share is None:
        return ""
    return f"; {part(share, program)} of them come from the loop at {share.loop.file}:{share.loop.line}"


def part(share: Share, program: Program) -> str:
    """The share of a program that comes from a loop: `91 %`."""
    return f"{100 * share.lines / program.lines:.0f} %"
