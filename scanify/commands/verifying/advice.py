"""`--advise`: where scanning does not pay, by what the loop and its scan take on the cases."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scanify.verify.measure.advise import advise
from scanify.verify.verdict import Advice

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


def advice_on(verify: "Callable[..., Verification]") -> "tuple[Advice, ...]":
    """Time the cases and say, once for each reason, where scanning does not pay.

    `verify` runs the cases; it is told the policies and the comparer. A case that cannot be timed is told too: advice
    is no reason to fail.
    """
    # Without remat a scan computes what its loop does, so that what remat costs is not taken for what scanning costs;
    # and as it is written (None) it is what the user gets.
    timed = verify(policies=("none", None), measure=True, comparer="scanify.verify.measure.timing:timed_case")
    failed = [
        Advice(case.name, "failed", f"could not be timed: {case.error}")
        for case in timed.cases
        if case.error is not None
    ]
    return (*failed, *advise(timed.cases))
