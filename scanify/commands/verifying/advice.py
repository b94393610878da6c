"""`--advise`: where scanning does not pay, based on the times of the loop and its scan on the cases."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scanify.verify.measure.advise import advise
from scanify.verify.verdict import Advice

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


def advice_on(verify: "Callable[..., Verification]") -> "tuple[Advice, ...]":
    """Time the cases and report where scanning does not pay, once for each reason.

    `verify` runs the cases under the given policies and comparer. A case that cannot be timed is reported as well,
    since advice never makes a verification fail.
    """
    # Under "none", a scan computes the same as its loop, so the cost of remat is not attributed to scanning; under
    # None, the policy as written, it is what the user gets.
    timed = verify(policies=("none", None), measure=True, comparer="scanify.verify.measure.timing:timed_case")
    failed = [
        Advice(case.name, "failed", f"could not be timed: {case.error}")
        for case in timed.cases
        if case.error is not None
    ]
    return (*failed, *advise(timed.cases))
