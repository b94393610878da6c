"""What came of each loop, and the table of the docs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.packages.commands.table import Package

# What `scanify verify --execute` says of versions that were proved equal and give other numbers.
FALSE = "proved equal, but"


@dataclass(frozen=True)
class LoopResult:
    """A loop that ought to be rewritten: whether the command reaches it, and whether its rewrite is PROVED.

    `false` is true if it was proved and other numbers came out. `why` says why it is not PROVED.
    """

    package: str
    file: str
    line: int
    reached: bool = False
    proved: bool = False
    false: bool = False
    why: str = ""

    @property
    def text(self) -> str:
        return "PROVED" if self.proved else f"{'reached' if self.reached else 'not reached'}: {self.why}"


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
    lines = ["| package | command | loops | reached | PROVED without `--run` | PROVED with it |", "|---" * 6 + "|"]
    for package in packages:
        ours = [result for result in after if result.package == package.name]
        runs = ", ".join(f"`{run}`" for run in dict.fromkeys(target.run for target in package.targets))
        proved, reached = proved_and_reached(ours)
        earlier = sum(result.proved for result in before if result.package == package.name)
        cells = (f"{package.name} {package.version[:12]}", runs, _wanted([package]), reached, earlier, proved)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    proved, reached = proved_and_reached(after)
    earlier = sum(result.proved for result in before)
    lines.append(f"| **all** | | {_wanted(packages)} | {reached} | {earlier} | {proved} |")
    summary = (
        f"{len(packages)} packages: of {reached} loops that the commands reach, {proved} end PROVED"
        f" ({100 * proved / max(reached, 1):.0f}%); {false_verdicts(after)} false verdicts."
    )
    others = [f"- {r.package} `{r.file}:{r.line}`, {r.text}".replace("|", "/") for r in after if not r.proved]
    said = ", ".join(f"{name} {version}" for name, version in versions)
    return "\n".join([summary, "", *lines, "", f"With {said}. Not PROVED:", "", *others, ""])


def _wanted(packages: Sequence[Package]) -> int:
    return sum(len(target.loops) for package in packages for target in package.targets)
