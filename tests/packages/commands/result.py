"""What came of each loop, and the table of the docs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.packages.commands.table import Package

# What `scanify verify --execute` says of versions that were proved equal and give other numbers, and of a run that ends
# before it comes to any of the functions with loops.
NOT_CALLED = "without a call of"
FALSE = "the programs are proved equal, and what they are compiled to is not"
# What it says of loops that have nothing to scan in the command, and of loops that calls reach and do not show.
UNLIKE = ("no two are alike in the run", "too few for a scan", "but scans nothing")
SHORT = ("the recorded call does not show it", "no call could be compared")


@dataclass(frozen=True)
class LoopResult:
    """A loop that ought to be rewritten: whether the command reaches it, and whether its rewrite is PROVED.

    `unlike` is true if the command runs the loop over layers of which no two are alike, or over one or two layers.
    `false` is true if it was proved and other numbers came out. `why` says why it is not PROVED.
    """

    package: str
    file: str
    line: int
    reached: bool = False
    proved: bool = False
    unlike: bool = False
    false: bool = False
    why: str = ""

    @property
    def text(self) -> str:
        if self.proved:
            return "PROVED"
        return f"{'not PROVED' if self.reached else 'nothing to scan' if self.unlike else 'not reached'}: {self.why}"


def proved_and_reached(results: Iterable[LoopResult]) -> tuple[int, int]:
    """Return how many loops are PROVED, and how many are reached."""
    reached = [result for result in results if result.reached]
    return sum(result.proved for result in reached), len(reached)


def false_verdicts(results: Iterable[LoopResult]) -> int:
    return sum(result.false for result in results)


def markdown(
    packages: Sequence[Package],
    before: Sequence[LoopResult],
    after: Sequence[LoopResult],
    versions: Sequence[tuple[str, str]],
) -> str:
    head = (
        "package",
        "command",
        "loops",
        "nothing to scan",
        "reached",
        *(["PROVED without it"] if before else []),
        "PROVED",
    )
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for package in [*packages, None]:
        ours, earlier = ([r for r in some if package is None or r.package == package.name] for some in (after, before))
        runs = ", ".join(f"`{run}`" for run in dict.fromkeys(t.run for t in package.targets)) if package else ""
        proved, reached = proved_and_reached(ours)
        name = f"{package.name} {package.version[:12]}" if package else "**all**"
        unlike = sum(result.unlike for result in ours)
        cells = (name, runs, len(ours), unlike, reached, *([sum(r.proved for r in earlier)] if before else []), proved)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    (proved, reached), unlike = proved_and_reached(after), sum(result.unlike for result in after)
    summary = (
        f"{len(packages)} packages: of {reached} loops that the commands reach, {proved} end PROVED"
        f" ({_share(proved, reached)}; {_share(proved, reached + unlike)} with the {unlike} that have nothing to scan "
        f"there); {false_verdicts(after)} false verdicts."
    )
    others = [f"- {r.package} `{r.file}:{r.line}`, {_as_text(r.text)}" for r in after if not r.proved]
    said = ", ".join(f"{name} {version}" for name, version in versions)
    return "\n".join([summary, "", *lines, "", f"With {said}. Not PROVED:", "", *others, ""])


def _share(part: int, of: int) -> str:
    return f"{100 * part / max(of, 1):.0f}%"


def _as_text(said: str) -> str:
    """A message in a list of Markdown, where brackets would be links and bars the ends of cells."""
    return said.replace("|", "/").replace("[", r"\[").replace("]", r"\]").replace("*", r"\*").replace("_", r"\_")
