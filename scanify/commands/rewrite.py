"""`scanify rewrite`: replace loops over layers by scans over stacked layers."""

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.analysis.facts import Place
from scanify.analysis.plan import Plan
from scanify.commands.common import (
    Given,
    Wanted,
    advise_option,
    budget_option,
    demand_policy_at_run_time,
    load_project,
    paths_argument,
    remat_option,
    selection_options,
    stack_option,
    stdin_option,
    target_options,
    unsafe_options,
)
from scanify.commands.recorded.evidence import (
    by_recorded_calls,
    failed,
    rewritten_where,
    shown_by_cases,
    undecided_plans,
)
from scanify.commands.verifying.advice import advice_on
from scanify.commands.verifying.auto import budget_bytes, choose_and_rewrite, demand_case
from scanify.commands.verifying.cases import (
    demand_importable,
    short_plans,
    verifiable,
    verify_outcome,
)
from scanify.commands.verifying.changing import (
    Showing,
    demand_no_contradiction,
    no_verify_option,
    put,
    run_before_writing,
    show_diff,
    showing_options,
)
from scanify.commands.verifying.options import CaseRun, Running, run_options
from scanify.commands.verifying.policies import against_loops, measurable
from scanify.commands.verifying.proposed import commands_that_prove, run_for_held
from scanify.configuration.config import AUTO
from scanify.errors import Exit, ScanifyError
from scanify.pipeline import Outcome, files_of
from scanify.report.rewrite_text import render
from scanify.report.sentences import shown
from scanify.report.terminal import tell
from scanify.report.verification import print_verification
from scanify.source.notebook.text import is_notebook
from scanify.unrolling.kept import Rewrite, keep, keep_on

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


@click.command("rewrite", short_help="Rewrite loops over layers as scans.")
@paths_argument
@remat_option
@budget_option
@stack_option
@target_options
@showing_options
@click.option("--exit-non-zero-on-change", is_flag=True, help="Exit with 1 if a file was changed, as hooks do.")
@unsafe_options("Apply unsafe fixes too, unverified.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="Verify the rewrite on this case first, and write nothing if that fails. May be given several times.",
)
@no_verify_option
@click.option("--measure/--no-measure", default=False, show_default=True, help="Measure both versions when verifying.")
@advise_option
@run_options(recorded=True)
@stdin_option
@selection_options
def command(
    paths: tuple[str, ...],
    remat: str | None,
    memory_budget: str | None,
    stack: str | None,
    wanted: Wanted,
    diff: bool,
    check: bool,
    quiet: bool,
    exit_non_zero_on_change: bool,
    accepted: frozenset[str],
    cases: tuple[str, ...],
    no_verify: bool,
    measure: bool,
    advise: bool,
    running: Running,
    stdin_filename: str | None,
    no_exclude: bool,
    no_gitignore: bool,
) -> int:
    """Rewrite the loops over layers in PATHS as scans over stacked layers.

    PATHS are files and folders; `-` rewrites standard input to standard output. Safe fixes are applied; unsafe ones
    with --unsafe, or when a case has just verified them: a named case, the cases of the configuration, or for one file
    a proposed case (see scanify case). A list that other code may need stays (see --accept). Exits with 0 when that is
    done; with 1 if a file could not be read, a loop that a case runs was held back, or (--check, --diff) anything would
    change; with 3, and nothing written, if verification failed or no policy fits the budget.
    """
    showing, commands = Showing(diff, check, quiet), running.commands
    demand_no_contradiction((*cases, *commands), no_verify=no_verify)
    given = load_project(
        paths,
        stack,
        stdin_filename,
        no_exclude=no_exclude,
        no_gitignore=no_gitignore,
        wanted=wanted,
        writes=not showing.only,
        commands=commands,
    )
    run = run_before_writing(cases, given, running, no_verify)
    policy, given = remat or given.config.remat, replace(given, remat=remat, accepted=accepted)
    unattended = no_verify or exit_non_zero_on_change or given.stdin is not None
    if run is None and not (unattended or advise or policy == AUTO):
        held = _rewritten(given, policy, None).held
        run = click.get_current_context().with_resource(run_for_held(held, given, running))
    budget = budget_bytes(memory_budget, policy, given.config)
    timed = replace(demand_case(run, "--advise advises"), cache=None) if advise else None
    if policy == AUTO:
        demand_policy_at_run_time(given, "remat auto compares policies")
        outcome, verified = _by_choice(given, demand_case(run, "remat auto chooses"), budget)
    else:
        outcome, verified = _by_name(given, policy, run, measure=measure, paced=not advise)
    _say_unverified(outcome, run, explicit=bool(cases or commands))
    if timed is not None and verified is not None and not verified.failed:
        verified = verified.advised(partial(verify_outcome, outcome, given.project, timed, requested=None))
    proofs = commands_that_prove(outcome.held, given) if run is None or run.proposed else {}
    code = _finish(outcome, given, verified, showing, tried=run is not None, proofs=proofs)
    _keep(given, outcome, policy, code, showing)
    return Exit.FINDINGS if code == Exit.OK and outcome.changes and (showing.only or exit_non_zero_on_change) else code


def _keep(given: Given, outcome: Outcome, policy: str | None, code: int, showing: Showing) -> None:
    """Keep the previous texts for `scanify unroll`, if files were written."""
    if showing.only or code == Exit.VERIFICATION or given.stdin is not None:
        return
    if not outcome.applied:
        keep_on(given.project.root, outcome.before, outcome.texts)
        return
    rewrite = Rewrite(outcome.before, outcome.texts, given.stack, policy if policy != AUTO else None, given.target)
    keep(given.project.root, rewrite, map(files_of, outcome.applied))


@dataclass(frozen=True)
class _Verified:
    """Verifications to print, with remarks about them. `failed` is the reason why nothing may be written."""

    shown: "tuple[Verification, ...]"
    remarks: tuple[str, ...] = ()
    failed: str = ""

    def advised(self, verify: "Callable[..., Verification]") -> "_Verified":
        """Add advice on where scanning does not pay, based on the times that `verify` measures."""
        *others, last = self.shown
        return replace(self, shown=(*others, replace(last, advice=advice_on(verify))))


_FAILED = "verification failed"
_NOT_SHOWN = "the proposed case does not show the unsafe fixes, which are held back; give one with --case or --run"


def _say_unverified(outcome: Outcome, run: CaseRun | None, *, explicit: bool) -> None:
    """Report notebooks that no case verifies. Raises ScanifyError if a case is named and only notebooks change."""
    if run is None:
        return
    notebooks = [path for path in outcome.changes if is_notebook(path)]
    if explicit and notebooks and not verifiable(outcome):
        demand_importable(notebooks[0])
    for path in notebooks:
        tell(f"scanify: {shown(path, Path.cwd())} is not verified, as no case can import a notebook", err=True)


def _by_name(
    given: Given, policy: str | None, run: CaseRun | None, *, measure: bool, paced: bool
) -> tuple[Outcome, _Verified | None]:
    """Rewrite under the named policy, and verify if there are cases and changes.

    Loops that cases run for fewer than two iterations are held back, unless there are no others.
    """
    if run is not None and run.recorded:
        outcome, done = by_recorded_calls(
            partial(rewritten_where, given, policy, run),
            partial(_verified, given=given, policy=policy, run=run, measure=measure, paced=paced),
            given.accepted,
        )
        return outcome, None if done is None else _Verified((done,), failed=_FAILED if failed(done) else "")
    outcome = _rewritten(given, policy, run)
    if run is None or not verifiable(outcome):
        return outcome, None
    verified = _verified(outcome, given, policy, run, measure=measure, paced=paced)
    short = short_plans(verified, outcome.applied)
    if short and len(short) < len(outcome.applied):
        outcome = _rewritten(given, policy, run, without=frozenset(short))
        outcome = replace(outcome, short={**outcome.short, **short})
        verified = _verified(outcome, given, policy, run, measure=measure, paced=paced)
    if run.proposed and not verified.good:
        safe = _rewritten(given, policy, None)
        again = [_verified(safe, given, policy, run, measure=measure, paced=paced)] if verifiable(safe) else []
        return safe, _Verified((verified, *again), (_NOT_SHOWN,), _FAILED if any(map(failed, again)) else "")
    return outcome, _Verified((verified,), failed="" if verified.good else _FAILED)


def _verified(
    outcome: Outcome, given: Given, policy: str | None, run: CaseRun, *, measure: bool, paced: bool
) -> "Verification":
    shown = against_loops(outcome, given)
    if given.policy_at_run_time and shown is not None:
        return verify_outcome(shown, given.project, run, requested=policy, measure=measure, paced=paced)
    return verify_outcome(outcome, given.project, run, requested=None, measure=measure, policies=(None,), paced=paced)


def _by_choice(given: Given, run: CaseRun, budget: int | None) -> tuple[Outcome, _Verified | None]:
    """Rewrite under the cheapest policy that fits the budget, as measured on the cases."""
    outcome = measurable(_rewritten(given, None, run), given)
    if not outcome.changes:
        return outcome, None
    if not verifiable(outcome):
        raise ScanifyError("remat auto chooses by what a case measures, and none can import a notebook; name a policy")
    chosen = choose_and_rewrite(outcome, given, run, budget)
    if chosen.verified is None:
        return chosen.outcome, _Verified((chosen.measured,), (chosen.choice.why,), "no remat policy was chosen")
    if not chosen.verified.good:
        return chosen.outcome, _Verified((chosen.measured, chosen.verified), (chosen.choice.why,), _FAILED)
    return chosen.outcome, _Verified((chosen.measured,), (chosen.choice.why,))


def _rewritten(
    given: Given, policy: str | None, run: CaseRun | None, *, without: frozenset[Place] = frozenset()
) -> Outcome:
    """Rewrite in memory: safe fixes, and unsafe ones if they are accepted or a case is about to verify them.

    Loops at the places `without` are held back.
    """

    def outcome(accept: Callable[[Plan], bool], undecided: Set[Place] = frozenset()) -> Outcome:
        accepted = lambda plan: plan.place not in without and accept(plan)  # noqa: E731
        return rewritten_where(given, policy, run, accepted, undecided)

    safe = outcome(lambda plan: not plan.left(given.accepted))
    undecided = undecided_plans(safe)
    if run is None or not (safe.held or undecided):
        return safe
    reached, held = shown_by_cases([*safe.held, *undecided], given.project, run)
    either = (each for each in (*safe.held, *undecided) if each.place in reached)
    beyond = tuple(each for each in either if each.beyond_cases(given.accepted))
    shown = reached - {each.place for each in beyond}
    decided = (shown | held.keys()) & {plan.place for plan in undecided}
    if shown or decided:
        safe = outcome(lambda plan: not plan.left(given.accepted) or plan.place in shown, decided)
    return replace(safe, held=tuple(dict.fromkeys((*safe.held, *beyond))), beyond_cases=beyond, short=held)


def _finish(
    outcome: Outcome,
    given: Given,
    verified: _Verified | None,
    showing: Showing,
    *,
    tried: bool,
    proofs: dict[Place, str],
) -> int:
    """Show or write the result, print a summary on standard error, and return the exit code.

    `verified` is None if nothing was verified: there were no cases, or, if there were (`tried`), no changes.
    """
    folder = Path.cwd()
    failed = verified.failed if verified is not None else ""
    write = not (showing.only or failed)
    summary = render(outcome, folder, written=write, verified=tried and not failed, proofs=proofs)
    if showing.diff:
        show_diff(outcome.before, outcome.texts)
    if verified is not None and (failed or not showing.quiet):
        _print(verified)
    if failed:
        tell(f"scanify: {failed}; no file was changed", err=True)
        return Exit.VERIFICATION
    if write:
        put(outcome.changes, given)
    incomplete = (
        outcome.analysis.failed or bool(outcome.beyond_cases) or any(each.finding for each in outcome.short.values())
    )
    showing.sum_up(summary, failed=incomplete)
    return Exit.FINDINGS if incomplete else Exit.OK


def _print(verified: _Verified) -> None:
    from rich.console import Console

    for verification in verified.shown:
        print_verification(verification, Console(stderr=True))
    for remark in verified.remarks:
        tell(f"scanify: {remark}", err=True)
