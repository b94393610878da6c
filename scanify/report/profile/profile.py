"""The data of a profile report: cases, the findings of `check` on their loops, and the budget."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from scanify.verify.profile.startup import Program, Share, SourceLoop
from scanify.verify.verdict import CaseResult


@dataclass(frozen=True)
class Profile:
    """The profiled cases, and the findings on loops by file and line; `budget` is in StableHLO lines.

    `scans` are the loops that a rewrite makes scans of.
    """

    cases: tuple[CaseResult, ...]
    said: Mapping[tuple[str, int], str]
    scans: Set[tuple[str, int]]
    versions: tuple[tuple[str, str], ...]
    budget: int | None = None

    @property
    def failed(self) -> bool:
        return any(case.startup is None for case in self.cases)

    def advice(self, loop: SourceLoop) -> str:
        """The advice on a loop, or "" without any."""
        return self.said.get((loop.path, loop.line), "")

    def saves(self, share: Share) -> int | None:
        """About how many lines a rewrite saves in a loop; None for loops that it leaves as they are."""
        return share.scanned if (share.loop.path, share.loop.line) in self.scans else None

    def over(self) -> Iterator[str]:
        """Yield a sentence for each program above the budget, naming its largest loop."""
        if self.budget is None:
            return
        for case in self.cases:
            for program in case.startup.programs if case.startup is not None else ():
                if program.lines > self.budget:
                    yield (
                        f"{case.name}: the {program.name} has {program.lines:,} StableHLO lines, more than the budget "
                        f"of {self.budget:,}{self._blamed(program)}"
                    )

    def _blamed(self, program: Program) -> str:
        """The loop that makes most of a program, of those that a rewrite makes scans of if there is one."""
        scanned = [share for share in program.shares if self.saves(share)]
        shares = scanned or [share for share in program.shares if not share.depth]
        share = max(shares, key=lambda share: share.lines, default=None)
        if share is None:
            return ""
        return f"; {part(share, program)} of them come from the loop at {share.loop.file}:{share.loop.line}"


def part(share: Share, program: Program) -> str:
    """The share of a program that comes from a loop: `91 %`."""
    return f"{100 * share.lines / program.lines:.0f} %"
