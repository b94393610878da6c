"""Whether two functions are equal, as a library is asked: `scanify.prove_equal`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scanify.verify.compare.weakest import weakest
from scanify.verify.verdict import Difference, Operation, Status, Verdict

# What is compared for each order of derivatives, in words.
ORDERS = ("values", "values and first derivatives", "values, first and second derivatives")


@dataclass(frozen=True)
class Equality:
    """What was shown of two functions; true where they are proved equal.

    `verdict` is the weakest of what was compared, `reason` says why ("" where PROVED says it all), and `difference` is
    the first operation in which the two part. `checks` are all verdicts by what they are on, `notes` what was not
    compared and why.
    """

    verdict: Status
    reason: str = ""
    difference: Difference | None = None
    checks: tuple[tuple[str, Verdict], ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, checks: Sequence[tuple[str, Verdict]], notes: Sequence[str] = ()) -> Equality:
        """What several checks show together."""
        found = weakest([(f"{what}: ", verdict) for what, verdict in checks])
        return cls(found.status, found.reason, found.difference, tuple(checks), tuple(notes))

    @property
    def place(self) -> str | None:
        """`model.py:41`, where the second function parts from the first, or the first one from it; None: not known."""
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
