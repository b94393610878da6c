"""What became of many models made at random, counted and in words."""

from collections import Counter
from dataclasses import dataclass, field

from tests.random_models.check import Checked


@dataclass
class Tally:
    """Counts over models. Loops of models without a planted hazard are those whose share is stated.

    `louder` are models with a planted hazard whose rewritten form raises where the loop does not: never silent, so
    neither wrong nor a crash. So are all models of a target that fails where layers turn out to differ (`fails_loudly`).
    """

    fails_loudly: bool = False
    models: int = 0
    planted: int = 0
    raising: int = 0
    unsafe: int = 0
    loops: int = 0
    planted_loops: int = 0
    held: Counter[str] = field(default_factory=Counter)
    planted_held: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    planted_refused: Counter[str] = field(default_factory=Counter)
    wrong: list[Checked] = field(default_factory=list)
    crashes: list[Checked] = field(default_factory=list)
    louder: list[Checked] = field(default_factory=list)

    def add(self, one: Checked) -> None:
        planted = one.model.planted
        self.models += 1
        self.planted += planted
        self.raising += one.raises is not None
        self.unsafe += one.unsafe and not planted
        rules = [rule for rule, _ in one.refused] + ["not found"] * one.unseen
        loops = len(one.held) + len(rules)
        if planted:
            self.planted_loops += loops
            self.planted_held.update(one.held)
            self.planted_refused.update(rules)
        else:
            self.loops += loops
            self.held.update(one.held)
            self.refused.update(rules)
            self.reasons.update(f"{rule} {reason}" for rule, reason in one.refused)
        if one.wrong is not None:
            self.wrong.append(one)
        if one.crash is not None:
            rewritten = one.text is not None
            (self.louder if (planted or self.fails_loudly) and rewritten else self.crashes).append(one)

    @property
    def share(self) -> float:
        """The share of the loops without a planted hazard that are rewritten."""
        return self.held.total() / max(1, self.loops)


def text(tally: Tally) -> str:
    lines = [
        f"models                        {tally.models}",
        f"  with a planted hazard       {tally.planted}",
        f"  whose own loop raises       {tally.raising}",
        f"loops without planted hazard  {tally.loops}",
        f"  rewritten                   {tally.held.total()} ({tally.share:.1%})",
        *(f"    {holds:<26}{count}" for holds, count in sorted(tally.held.items())),
        f"  not rewritten               {tally.refused.total()}",
        *(f"    {rule:<26}{count}" for rule, count in tally.refused.most_common()),
        f"models with an unsafe rewrite {tally.unsafe}",
        f"loops of models with a hazard {tally.planted_loops}",
        f"  rewritten                   {tally.planted_held.total()}",
        f"  not rewritten               {tally.planted_refused.total()}",
        *(f"    {rule:<26}{count}" for rule, count in tally.planted_refused.most_common()),
        f"  louder than their loop      {len(tally.louder)}",
        f"wrong results                 {len(tally.wrong)}",
        f"crashes                       {len(tally.crashes)}",
    ]
    return "\n".join(lines)


def failure(one: Checked) -> str:
    """A wrong or crashing rewrite with its seed and both texts."""
    return f"seed {one.seed}: {one.wrong or one.crash}\n{one.model.text}\n -- became --\n{one.text or 'nothing'}"
