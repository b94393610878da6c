"""The equality of two functions as a library function: `scanify.prove_equal`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scanify.verify.compare.weakest import weakest
from scanify.verify.verdict import Difference, Operation, Status, Verdict

# The compared quantities for each order of derivatives.
ORDERS = ("values", "values and first derivatives", "values, first and second derivatives")


@dataclass(frozen=True)
class Equality:
    """The result of comparing two functions; true if they are proved equal.

    `verdict` is the weakest of the comparisons, `reason` its reason ("" if PROVED needs none), and `difference` is the
    first operation in which the two differ. `checks` are all verdicts with their subjects, `notes` are omitted
    comparisons with reasons.
    """

    verdict: Status
    reason: str = ""
    difference: Difference | None = None
    checks: tuple[tuple[str, Verdict], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, checks: Sequence[tuple[str, Verdict]], notes: Sequence[str] = ()) -> Equality:
        """Combine several checks."""
        found = weakest([(f"{what}: ", verdict) for what, verdict in checks])
        return cls(found.status, found.reason, found.difference, tuple(checks), tuple(notes))

    @property
    def place(self) -> str | None:
        """Return `model.py:41`, where the second function differs from the first, or vice versa; None if unknown."""
        sides = () if self.difference is None else (self.difference.after, self.difference.before)
        return next((where for side in sides if (where := _where(side)) is not None), None)

    def __bool__(self) -> bool:
        return self.verdict is Status.PROVED

    def __str__(self) -> str:
        return f"{self.verdict.value}{': ' if self.reason else ''}{self.reason}"


def _where(operation: Operation | None) -> str | None:
    if operation is None or operation.file is None:
        return None
    return operation.file if operation.line is None else f"{operation.file}:{operation.line}"
