"""`--remat auto`: rewrite under the cheapest policy that fits the budget, as measured on the cases."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scanify.analysis.obligation import ELSEWHERE
from scanify.commands.common import Given
from scanify.commands.verifying.cases import verify_outcome
from scanify.commands.verifying.options import CaseRun
from scanify.commands.verifying.policies import against_loops
from scanify.configuration.config import AUTO, Config
from scanify.errors import ScanifyError
from scanify.pipeline import Outcome, rewrite_sources, with_policy
from scanify.verify.children.limits import parse_memory
from scanify.verify.measure.choose import choose

if TYPE_CHECKING:
    from scanify.verify.measure.choose import Choice
    from scanify.verify.verdict import Verification


@dataclass(frozen=True)
class Chosen:
    """The rewrite under the chosen policy (`outcome`), the measurements under all policies, and the choice.

    `verified` is the verification of the text to be written, or None if no policy could be chosen.
    """

    outcome: Outcome
    measured: "Verification"
    choice: "Choice"
    verified: "Verification | None" = None


def budget_bytes(option: str | None, policy: str | None, config: Config) -> int | None:
    """The bytes that `--memory-budget` or the configuration allows; None without a budget.

    Raises ScanifyError if the option is used without --remat auto, or is not a size.
    """
    if option is None:
        return config.memory_budget if policy == AUTO else None
    if policy != AUTO:
        named = "no policy is to be chosen" if policy is None else f"the policy is {policy}"
        raise ScanifyError(f"--memory-budget goes with --remat auto, which chooses a policy by it; here {named}")
    return parse_memory(option)


def demand_case(run: CaseRun | None, what: str) -> CaseRun:
    """Return the cases to measure. Raises ScanifyError without any; `what` begins the message: `--advise advises`."""
    if run is None:
        raise ScanifyError(
            f"{what} by what a case measures, and there is none: name one with --case FILE:FUNCTION or in "
            "[tool.scanify.cases], and leave out --no-verify"
        )
    return run


def choose_and_rewrite(outcome: Outcome, given: Given, run: CaseRun, budget: int | None) -> Chosen:
    """Measure `outcome` under every policy, choose one, rewrite the same loops with it, and verify the result.

    The second verification checks the text to be written: that it follows the policy and equals the measured version.
    """
    measured = verify_outcome(
        against_loops(outcome, given) or outcome, given.project, run, requested=None, measure=True
    )
    choice = choose(measured.cases, budget)
    if choice.policy is None:
        return Chosen(outcome, measured, choice)
    places = {plan.place for plan in outcome.applied}
    outcome = rewrite_sources(
        given.project,
        stack=given.stack,
        remat=choice.policy,
        accept=lambda plan: plan.place in places,
        keep_lists=ELSEWHERE not in given.accepted,
        wanted=given.config.wants,
    )
    if given.changes_policies:
        outcome = with_policy(outcome, given.project, choice.policy)
    if not outcome.changes:
        return Chosen(outcome, measured, choice, measured)
    shown = against_loops(outcome, given) or outcome
    verified = verify_outcome(
        shown, given.project, run, requested=choice.policy, measure=False, policies=(choice.policy,)
    )
    return Chosen(outcome, measured, choice, verified)
