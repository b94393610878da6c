"""`scanify verify`: compare two versions of a model on cases; the second is rewritten in memory or by hand."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scanify.analysis.facts import Place
from scanify.analysis.obligation import COST
from scanify.commands.common import (
    REMAT_CHOICE,
    STDIN,
    Given,
    Wanted,
    accept_option,
    advise_option,
    demand_policy_at_run_time,
    load_project,
    stack_option,
    target_options,
    write_output,
)
from scanify.commands.recorded.evidence import by_recorded_calls, rewritten_where, shown_by_cases, undecided_plans
from scanify.commands.verifying.advice import advice_on
from scanify.commands.verifying.by_hand import ByHand, demand_file, since, since_by_case, two_files
from scanify.commands.verifying.cases import (
    demand_importable,
    rewrite_for_cases,
    verify_by_hand,
    verify_outcome,
)
from scanify.commands.verifying.certificates import proofs_into, replay_file
from scanify.commands.verifying.more_runs import demand_values, steps_option, with_losses, with_mesh
from scanify.commands.verifying.options import CaseRun, Running, choose_run, run_options
from scanify.commands.verifying.proposed import proposed_run
from scanify.configuration.config import REMATS, SYNONYMS, Config, load_config
from scanify.errors import CaseFailed, Exit, ScanifyError
from scanify.pipeline import Outcome
from scanify.report.diff import render as render_diff
from scanify.report.formats import render
from scanify.report.sentences import shown
from scanify.report.terminal import tell
from scanify.report.verification import print_verification, verification_text
from scanify.report.verification.summary import summary
from scanify.verdicts import keep_verdict
from scanify.verify.mesh.axes import parse_mesh

if TYPE_CHECKING:
    from scanify.verify.cases.case import CaseSpec
    from scanify.verify.mesh.axes import Axes
    from scanify.verify.verdict import Verification

FORMATS = ("text", "json", "markdown", "junit", "html")


@click.command("verify", short_help="Verify a rewrite, scanify's or your own, on cases.")
@click.argument("file", required=False)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="A function that is given the module and answers (model, args), or a name of the configuration. May be given "
    "several times; without it, all cases of the configuration, or else one that is proposed (see scanify case). Its "
    "attribute `sweep` may hold other arguments for it: [{'length': 7}, {'key': None}]. Its attribute `mapping` may "
    "say which parameters belong together where names and values do not: {'stack.w': 'layers[*].w'}, of the second "
    "version and the first.",
)
@click.option("--before", metavar="A.py", help="With --after: the original of a version that was written by hand.")
@click.option(
    "--after",
    metavar="B.py",
    help="The version that was written by hand. Each of the two files is imported under its own name from where it "
    "lies, with the neighbours it has there, and the cases are given each in turn.",
)
@click.option(
    "--against",
    metavar="REVISION",
    help="Compare the working tree with this git revision: every file of the repository that differs, the case files "
    "excepted. Where the code looks at other files than Python's that differ, the original runs in a copy of the "
    "whole revision. FILE is the one that the cases are for; without it, each case is for the file that the "
    "configuration names, or that defines what it takes from its module, or else the only one that differs.",
)
@click.option(
    "--remat",
    "remats",
    multiple=True,
    type=REMAT_CHOICE,
    help="A policy to verify under. Without it: every one; and of a version written by hand, what is written. There "
    "it has an effect on the stacks of scanify.nn alone.",
)
@stack_option
@accept_option
@target_options
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the report to this file.")
@click.option("--measure/--no-measure", default=True, show_default=True, help="Compile both versions and measure them.")
@click.option(
    "--certificate",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write what is proved to FILE (.gz: compressed): both programs in a neutral form, and the steps that show "
    "them equal. Cases are run anew for it.",
)
@click.option(
    "--replay",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Check such a file, and nothing else: no model is loaded, and jax is not needed.",
)
@click.option(
    "--mesh",
    metavar="2x4",
    help="Compile both versions for a mesh of virtual devices, too, without weights, and compare what each takes on "
    "one of them and what they exchange: 2x4 (the axes data and model) or batch=2,tensor=4. The case says where arrays "
    "lie: its attribute `shardings` is given the path and the array of each leaf of the loop version and answers a "
    "PartitionSpec, or None; its attribute `pipeline` may name an axis to cut the layers of stacks over.",
)
@steps_option
@advise_option
@run_options(recorded=True)
def command(
    file: str | None,
    cases: tuple[str, ...],
    before: str | None,
    after: str | None,
    against: str | None,
    remats: tuple[str, ...],
    stack: str | None,
    accepted: frozenset[str],
    wanted: Wanted,
    form: str,
    output: str | None,
    measure: bool,
    certificate: str | None,
    replay: str | None,
    mesh: str | None,
    steps: int | None,
    advise: bool,
    running: Running,
) -> int:
    """Compare two versions of a model on each case: outputs, gradients, initial parameters. Nothing is written.

    \b
    scanify verify FILE                        FILE, and FILE as `scanify rewrite` would write it with the case
    scanify verify --before A.py --after B.py  two files
    scanify verify --against REVISION [FILE]   the files in a git revision, and as they are now
    scanify verify --replay CERTIFICATE        what another run has proved, checked again without the model

    Exits with 3 if anything differs, with 1 if a loop was left out as other code may need its list (see --accept).
    """
    if replay is not None:
        if any(each is not None for each in (file, before, after, against, certificate)) or cases:
            raise ScanifyError("--replay checks a certificate and runs nothing: give it alone")
        return replay_file(replay)
    _check_mode(file, before, after, against, named=stack is not None or wanted.said or bool(accepted))
    demand_values(steps, abstract=running.abstract)
    load = partial(load_project, stack=stack, wanted=wanted, accepted=accepted, commands=running.commands)
    given = load((file,)) if file and against is None else None
    named = [Path(each) for each in (file, before, after) if each is not None]
    config = load_config(named) if given is None else given.config
    run = choose_run(cases, config, running)
    policies = tuple(SYNONYMS.get(each, each) for each in remats)
    extras = _Extras(measure, advise, () if mesh is None else parse_mesh(mesh), steps)
    if run is None and given is None:
        raise ScanifyError("expected a case: give --case FILE:FUNCTION, or name one in [tool.scanify.cases]")
    with proofs_into(certificate) as keep:
        if run is None:
            assert given is not None
            _demand_changes(_rewrite(given, policies), given)
            with proposed_run(given, running) as run:
                result = _rewritten(given, keep(run), policies, extras)
        elif given is not None:
            result = _rewritten(given, keep(run), policies, extras)
        else:
            changes = _changes(before, after, against, file, run, config)
            result = _by_hand(changes, keep(run), policies, extras)
        _report(result, form, output)
        keep.save(result)
    return Exit.VERIFICATION if not result.good else Exit.FINDINGS if result.held_back else Exit.OK


def _changes(
    before: str | None, after: str | None, against: str | None, file: str | None, run: CaseRun, config: Config
) -> "list[tuple[ByHand, tuple[CaseSpec, ...]]]":
    """Return the manual changes, each with the cases for its file."""
    if before is not None and after is not None:
        return [(two_files(before, after), run.cases)]
    assert against is not None
    if file is None:
        return since_by_case(against, run.cases, config)
    written = tuple(case.path for case in run.cases if case.command is None)
    return [(since(against, file, written), run.cases)]


def _check_mode(file: str | None, before: str | None, after: str | None, against: str | None, *, named: bool) -> None:
    """Raise ScanifyError if the options do not identify the two versions."""
    if (before is None) != (after is None):
        raise ScanifyError("--before and --after go together: give both files")
    modes = [against is not None, before is not None]
    if all(modes):
        raise ScanifyError("--against compares with a git revision, --before and --after two files; give one of them")
    if before is not None and file is not None:
        raise ScanifyError(f"--before and --after name the two files to compare; leave out {file}")
    if any(modes) and named:
        raise ScanifyError(
            "--stack, --accept, --target and --target-version are how scanify rewrites a file; they have no meaning "
            "for a version written by hand"
        )
    if file == STDIN:
        raise ScanifyError("standard input cannot be verified; name a file")
    if not any(modes):
        if file is None:
            raise ScanifyError("expected a FILE to rewrite and verify, or --before A.py --after B.py, or --against REV")
        demand_file(file)
        demand_importable(Path(file))


@dataclass(frozen=True)
class _Extras:
    """Figures that are requested for each case, in addition to the verdicts."""

    measure: bool
    advise: bool
    mesh: "Axes"
    steps: int | None

    def added(
        self, result: "Verification", verify: "Callable[..., Verification]", policies: Sequence[str | None]
    ) -> "Verification":
        """Add advice, figures on a mesh and losses to a verification. `verify` runs the cases once more.

        On a mesh, the rewritten version is compiled under each of the `policies`.
        """
        if self.advise and result.good:
            result = replace(result, advice=advice_on(verify))
        if self.mesh:
            result = with_mesh(result, partial(verify, policies=policies, mesh=self.mesh))
        return result if self.steps is None else with_losses(result, partial(verify, steps=self.steps))


def _rewritten(given: Given, run: CaseRun, policies: tuple[str, ...], extras: _Extras) -> "Verification":
    """Verify the rewrite of a file by scanify against the original."""
    compared: tuple[str | None, ...] = policies or REMATS
    requested = _requested(policies)
    if not given.policy_at_run_time:
        compared, requested = (None,), None  # the policy is part of the text
    options: dict[str, Any] = {"measure": extras.measure, "paced": not extras.advise}

    def verify(outcome: Outcome) -> "Verification":
        return verify_outcome(outcome, given.project, run, requested=requested, policies=compared, **options)

    if run.recorded:
        rewrite = partial(rewritten_where, given, _requested(policies), run)
        # As with a written case, code that reads the cost of a program is not covered; nothing is written here.
        outcome, recorded = by_recorded_calls(rewrite, verify, given.accepted | {COST})
    else:
        outcome, recorded = _decided(given, run, policies), None
    _demand_changes(outcome, given)
    result = verify(outcome) if recorded is None else recorded
    if run.cache is not None:
        keep_verdict(given.config.root, {path: outcome.before[path] for path in outcome.changes}, result)
    shown_under = policies or (("none", None) if given.policy_at_run_time else (None,))
    result = extras.added(result, partial(verify_outcome, outcome, given.project, run, requested=None), shown_under)
    return replace(result, diff=render_diff(outcome.before, outcome.texts, Path.cwd()))


def _decided(given: Given, run: CaseRun, policies: tuple[str, ...]) -> Outcome:
    """Return the rewrite, including loops whose layers the source leaves open if the cases run them."""
    outcome = _rewrite(given, policies)
    plans = [plan for plan in undecided_plans(outcome) if not plan.beyond_cases(given.accepted)]
    try:
        shown, held = shown_by_cases(plans, given.project, run)
    except CaseFailed:
        if outcome.changes:  # the error will be reported when they are verified
            return outcome
        raise
    return replace(_rewrite(given, policies, shown) if shown else outcome, short=held)


def _rewrite(given: Given, policies: tuple[str, ...], undecided: Set[Place] = frozenset()) -> Outcome:
    if len(policies) > 1:
        demand_policy_at_run_time(given, "several policies are compared")
    return rewrite_for_cases(
        given.project,
        stack=given.stack,
        remat=_requested(policies),
        target=given.target,
        wanted=given.config.wants,
        accepted=given.accepted,
        undecided=undecided,
    )


def _requested(policies: tuple[str, ...]) -> str | None:
    """Return the policy to rewrite with, if exactly one is named."""
    return policies[0] if len(policies) == 1 else None


def _by_hand(
    changes: "list[tuple[ByHand, tuple[CaseSpec, ...]]]",
    run: CaseRun,
    policies: tuple[str, ...],
    extras: _Extras,
) -> "Verification":
    """Verify manual changes, each with its own cases: as written, unless policies are named."""
    results = []
    for change, cases in changes:
        verify, shown_under = partial(verify_by_hand, change, replace(run, cases=cases)), policies or (None,)
        result = verify(policies=shown_under, measure=extras.measure, paced=not extras.advise)
        result = extras.added(result, verify, shown_under)
        results.append(replace(result, diff=change.diff(Path.cwd())))
    advice = [each.advice for each in results if each.advice is not None]
    return replace(
        results[0],
        cases=tuple(case for each in results for case in each.cases),
        advice=tuple(one for each in advice for one in each) if len(advice) == len(results) else None,
    )


def _demand_changes(outcome: Outcome, given: Given) -> None:
    """Raise ScanifyError if nothing changes: verifying nothing must not look like success."""
    if outcome.changes:
        return
    folder = Path.cwd()
    reasons = [f"{loop.place.named}: {loop.rule} {loop.reason}" for loop in outcome.refused]
    reasons += [f"{plan.place.named}: {plan.elsewhere[0]}; see --accept" for plan in outcome.beyond_cases]
    reasons += [f"{place.named}: {each.why}" for place, each in outcome.short.items()]
    reasons += [f"{shown(each.path, folder)} was skipped: {each.reason}" for each in outcome.analysis.skipped]
    why = "; ".join(reasons) or "it has no loop over layers, or was rewritten already"
    paths = [*(each.path for each in given.project.sources), *(each.path for each in given.project.skipped)]
    named = ", ".join(shown(path, folder) for path in paths)
    raise ScanifyError(
        f"nothing to verify: no loop in {named} can be rewritten ({why}). To verify a version that was written by "
        "hand, give --before and --after, or --against"
    )


def _report(result: "Verification", form: str, output: str | None) -> None:
    """Print the report, or write it to the file `output`."""
    if form == "text" and output is None:
        from rich.console import Console

        print_verification(result, Console())
        return
    if form == "text":
        text = verification_text(result)
    else:
        text = render(result, form, folder=Path.cwd())
    if output is None:
        click.echo(text, nl=False)
        return
    write_output(output, text)
    verdict, said = summary(result)
    tell(f"{verdict}: {said}\n{output}: the report")
