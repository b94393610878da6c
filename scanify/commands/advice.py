"""`--advise`: where scanning does not pay, by what the loop and its scan take on the cases."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


def advice_on(verify: "Callable[..., Verification]") -> tuple[str, ...]:
    """Time the cases and say, a sentence for each reason, where scanning does not pay; or that nothing speaks against.

    `verify` runs the cases; it is told the policies and the comparer. A case that cannot be timed gets a sentence too:
    advice is no reason to fail.
    """
    from scanify.verify.advise import advise

    # Without remat a scan computes what its loop does, so that what remat costs is not taken for what scanning costs;
    # and as it is written (None) it is what the user gets.
    timed = verify(policies=("none", None), measure=True, comparer="scanify.verify.timing:timed_case")
    failed = [
        f"advice: {case.name}: could not be timed: {case.error}" for case in timed.cases if case.error is not None
    ]
    found = [f"advice: {each.case}: {each.text}" for each in advise(timed.cases)]
    if not found and not failed:
        found = ["advice: nothing that was measured speaks against scanning"]
    return (*failed, *found)
