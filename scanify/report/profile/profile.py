"""What a profile's reports are made of: cases, what `check` says of their loops, and what a budget allows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scanify.verify.profile.startup import Program, Share, SourceLoop
from scanify.verify.verdict import CaseResult


@dataclass(frozen=True)
class Profile:
    """The cases that were profiled, and what scanify says of loops, by file and line; `budget` in StableHLO lines."""

    cases: tuple[CaseResult, ...]
    said: Mapping[tuple[str, int], str]
    versions: tuple[tuple[str, str], ...]
    budget: int | None = None

    @property
    def failed(self) -> bool:
        return any(case.startup is None for case in self.cases)

    def advice(self, loop: SourceLoop) -> str:
        """What can be done about a loop; "" where nothing is known of it."""
        return self.said.get((loop.path, loop.line), "")

    def over(self) -> Iterator[str]:
        """What is larger than the budget allows, each as a sentence that names the loop to look at."""
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
    """The part of a program that a loop makes: `91 %`."""
    return f"{100 * share.lines / program.lines:.0f} %"
