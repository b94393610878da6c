"""`--advise`: where scanning does not pay, by what the loop and its scan take on the cases."""

from scanify.commands.cases import CaseRun, verify_outcome
from scanify.pipeline import Outcome, Project

# Without remat a scan computes what its loop does, so that what remat costs is not taken for what scanning costs; and
# as it is written (None) it is what the user gets.
_TIMED = ("none", None)


def advice_on(outcome: Outcome, project: Project, run: CaseRun) -> tuple[str, ...]:
    """Time the cases and say, a sentence for each reason, where scanning does not pay; and that it pays elsewhere.

    A case that cannot be timed gets a sentence too: advice is no reason to fail.
    """
    from scanify.verify.advise import advise

    timed = verify_outcome(
        outcome,
        project,
        run,
        requested=None,
        measure=True,
        policies=_TIMED,
        comparer="scanify.verify.timing:timed_case",
    )
    failed = [
        f"advice: {case.case}: could not be timed: {case.error}" for case in timed.cases if case.error is not None
    ]
    found = [f"advice: {each.case}: {each.text}" for each in advise(timed.cases)]
    if not found and not failed:
        found = ["advice: nothing that was measured speaks against scanning"]
    return (*failed, *found)
