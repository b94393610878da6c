"""What became of many projects, counted by class of trap and in words."""

from collections import Counter
from dataclasses import dataclass, field

from tests.random_projects.check import Checked, Outcome
from tests.random_projects.rewriting import Said
from tests.random_projects.trap import Expect
from tests.random_projects.traps import HARMLESS, TRAPS

EXPECT = {trap.name: trap.expect for trap in (*TRAPS, *HARMLESS)}
REWRITTEN_GOAL, HELD_GOAL = 0.60, 0.95
_BAD = (Outcome.SILENT, Outcome.LOUD, Outcome.CRASH, Outcome.BROKEN)


@dataclass
class Class:
    """Loops of the projects with a trap of one class, and those projects by what became of them."""

    loops: int = 0
    rewritten: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    example: int | None = None


@dataclass
class Tally:
    """Counts over projects. `held` are loops with a trap of which the scan that would be wrong was not offered."""

    projects: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    plain: Counter[Said] = field(default_factory=Counter)
    trapped: int = 0
    held: int = 0
    classes: dict[str, Class] = field(default_factory=dict)
    bases: dict[str, Counter[bool]] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    bad: list[Checked] = field(default_factory=list)

    def add(self, one: Checked) -> None:
        project = one.project
        answers = list(zip(project.loops, one.rewriting.said, one.rewriting.reasons, strict=False))
        said = [said for loop, said, _ in answers if not loop.clean]
        self.projects += 1
        self.outcomes[one.outcome] += 1
        if one.outcome in _BAD:
            self.bad.append(one)
        expects = {EXPECT[name] for name in project.traps}
        for loop, each, reason in answers:
            if loop.clean or not project.traps:
                self._add_plain(one, "bystander" if project.traps else project.base, each, reason)
        kept = [each for each in said if _goes_through(each, expects)]
        if expects - {Expect.EITHER}:
            self.trapped += len(said)
            self.held += len(said) - len(kept)
        for name in project.traps or project.harmless:
            found = self.classes.setdefault(name, Class())
            found.loops += len(said)
            found.rewritten += len(kept)
            found.outcomes[one.outcome] += 1
            if one.outcome in _BAD or (found.example is None and kept):
                found.example = one.seed

    def _add_plain(self, one: Checked, base: str, said: Said, reason: str) -> None:
        self.plain[said] += 1
        done = said in (Said.REWRITTEN, Said.AT_CALL)
        for part in (*base.split(", ", 1), *one.project.harmless):
            self.bases.setdefault(part, Counter())[done] += 1
        if not done:
            self.reasons[reason or said.value] += 1

    @property
    def share(self) -> float:
        """The share of the loops without a trap that are rewritten."""
        return (self.plain[Said.REWRITTEN] + self.plain[Said.AT_CALL]) / max(1, self.plain.total())

    @property
    def held_share(self) -> float:
        return self.held / max(1, self.trapped)

    @property
    def good(self) -> bool:
        """No difference, no crash, and at most one project in a hundred that raises only when rewritten."""
        silent = self.outcomes[Outcome.SILENT] + self.outcomes[Outcome.CRASH] + self.outcomes[Outcome.BROKEN]
        loud = self.outcomes[Outcome.LOUD] <= 0.01 * self.projects
        return not silent and loud and self.share >= REWRITTEN_GOAL and self.held_share >= HELD_GOAL


def _goes_through(said: Said, expects: set[Expect]) -> bool:
    """Whether a loop was rewritten in a way that its trap is set for."""
    if said is Said.AT_CALL:
        return not expects or bool(expects & {Expect.HELD, Expect.IDLE, Expect.EITHER})
    return said is Said.REWRITTEN


def text(tally: Tally) -> str:
    counts = ", ".join(f"{outcome.value} {count}" for outcome, count in tally.outcomes.most_common())
    lines = [
        f"projects                    {tally.projects}: {counts}",
        f"loops without a trap        {tally.plain.total()}, rewritten {tally.share:.1%} (goal {REWRITTEN_GOAL:.0%})",
        *(f"  {said.value:<26}{count}" for said, count in tally.plain.most_common()),
        f"loops with a trap           {tally.trapped}, held back {tally.held_share:.1%} (goal {HELD_GOAL:.0%})",
        "",
        f"{'class':<44}{'expected':<24}{'loops':>6}{'through':>9}{'silent':>8}{'loud':>6}{'crash':>7}  seed",
    ]
    for name, found in sorted(tally.classes.items(), key=lambda pair: (EXPECT[pair[0]].value, pair[0])):
        counted = found.outcomes
        bad = counted[Outcome.CRASH] + counted[Outcome.BROKEN]
        lines.append(
            f"{name:<44}{EXPECT[name].value:<24}{found.loops:>6}{found.rewritten:>9}{counted[Outcome.SILENT]:>8}"
            f"{counted[Outcome.LOUD]:>6}{bad:>7}  {'' if found.example is None else found.example}"
        )
    return "\n".join(lines)


def plain_text(tally: Tally) -> str:
    """Of loops without a trap: the share rewritten by form, layer and what stands beside them, and reasons of others."""
    lines = ["", "loops without a trap that are rewritten, by what they are made of"]
    for part, counts in sorted(tally.bases.items(), key=lambda pair: (pair[1][True] / pair[1].total(), pair[0])):
        lines.append(f"  {part:<44}{counts[True]:>5} of {counts.total()}")
    lines += ["", "why not", *(f"{count:>6}  {reason}" for reason, count in tally.reasons.most_common(30))]
    return "\n".join(lines)


def failure(one: Checked) -> str:
    """A bad project with its seed, its traps and both versions of what changed."""
    head = f"seed {one.seed} {one.outcome.value}: {one.project.base}; {', '.join(one.project.traps) or 'no trap'}"
    files = [f"-- {name}\n{text}" for name, text in one.project.files.items()]
    new = one.rewriting.files
    files += [f"-- {name} became\n{new[name]}" for name in new if new[name] != one.project.files[name]]
    return "\n".join([head, one.detail, *files])
