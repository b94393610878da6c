"""One row of the table: a model, how its layers were stacked, and what came of the comparison."""

from collections import Counter
from dataclasses import dataclass

from scanify.verify.verdict import CaseResult, Status, Verdict

REWRITTEN, ARRAY_STACKED, BLOCK_SEQ = "rewritten", "by hand, ArrayStacked", "by hand, BlockSeq"
REFUSED = "left a loop"


@dataclass(frozen=True)
class Row:
    """`how` is one of the four above, or "not run". `layers` says how long the list is.

    `notes` say why the layers were not stacked in another way; `result` is None where nothing was compared, for the
    reason in `error`.
    """

    package: str
    model: str
    how: str
    layers: str = ""
    result: CaseResult | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def why(self) -> str | None:
        """Why nothing was compared; None where it was, and where there is nothing to compare."""
        return self.error or (self.result.error if self.result else None)

    def verdicts(self) -> list[tuple[str, Verdict]]:
        """Each verdict with what it is about: `nested: gradients`."""
        found: list[tuple[str, Verdict]] = []
        for policy in self.result.policies if self.result else ():
            found += [(f"{policy.policy}: outputs", policy.outputs), (f"{policy.policy}: gradients", policy.gradients)]
        return found

    def counts(self) -> Counter[Status]:
        return Counter(verdict.status for _, verdict in self.verdicts())

    def reasons(self) -> list[str]:
        """What is not PROVED, and what else was found, each reason once with all that it is the reason of."""
        result = self.result
        if self.how == REFUSED:
            return []
        if self.why is not None or result is None:
            return [self.why or "nothing was compared"]
        by_reason: dict[str, list[str]] = {}
        others = {"parameters": result.parameters, "jvp": result.tangents, "vmap": result.batched, "keys": result.keys}
        extra = [(what, verdict) for what, verdict in others.items() if verdict is not None]
        for what, verdict in [*self.verdicts(), *extra]:
            if verdict.status is not Status.PROVED:
                by_reason.setdefault(f"{verdict.status.value}: {verdict.reason}", []).append(what)
        findings = [*result.findings, *(each for policy in result.policies for each in policy.findings)]
        return [f"{', '.join(what)} {reason}" for reason, what in by_reason.items()] + list(dict.fromkeys(findings))


def share(rows: list[Row]) -> tuple[int, int]:
    """How many verdicts on outputs and gradients are PROVED, of how many; a row without a comparison counts as one.

    A loop that scanify leaves alone has no verdict: it is in the table for its reason.
    """
    counts = [row.counts() for row in rows if row.how != REFUSED]
    return sum(count[Status.PROVED] for count in counts), sum(count.total() or 1 for count in counts)
