"""`scanify rewrite`: replace loops over layers by scans over stacked layers."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.analysis.plan import Plan
from scanify.commands.cases import CaseRun, choose_run, limit_options, reached_loops, verify_outcome
from scanify.commands.common import Given, load_project, paths_argument, remat_option, stack_option, stdin_option
from scanify.errors import Exit, ScanifyError
from scanify.pipeline import Outcome, rewrite_sources
from scanify.source.write import write_all

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


@click.command("rewrite", short_help="Rewrite loops over layers as scans.")
@paths_argument
@remat_option
@stack_option
@click.option("--diff", is_flag=True, help="Show what would change as a unified diff; write nothing.")
@click.option("--check", is_flag=True, help="Only say whether anything would change; write nothing.")
@click.option("--unsafe", is_flag=True, help="Apply unsafe fixes too, unverified.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="Verify the rewrite on this case first, and write nothing if that fails. May be given several times.",
)
@click.option("--no-verify", is_flag=True, help="Do not run the cases of the configuration.")
@click.option("--measure/--no-measure", default=False, show_default=True, help="Measure both versions when verifying.")
@limit_options
@stdin_option
def command(
    paths: tuple[str, ...],
    remat: str | None,
    stack: str | None,
    diff: bool,
    check: bool,
    unsafe: bool,
    cases: tuple[str, ...],
    no_verify: bool,
    measure: bool,
    abstract: bool,
    time_limit: float | None,
    memory_limit: str | None,
    stdin_filename: str | None,
) -> int:
    """Rewrite the loops over layers in PATHS as scans over stacked layers.

    PATHS are files and folders; `-` rewrites standard input to standard output. Safe fixes are applied; unsafe ones
    with --unsafe, or when a case has just verified them. Exits with 1 if anything changed or would change, with 3 if
    verification failed; then nothing is written.
    """
    if cases and no_verify:
        raise ScanifyError("--case and --no-verify contradict each other; give one of them")
    given = load_project(paths, stack, stdin_filename)
    run = None if no_verify else choose_run(cases, given.config, time_limit, memory_limit, abstract=abstract)
    if run is not None and given.stdin is not None:
        raise ScanifyError("standard input cannot be verified; name a file, or give --no-verify")
    policy = remat or given.config.remat
    outcome = _rewritten(given, policy, run, unsafe=unsafe)
    verified = None
    if run is not None and outcome.changes:
        verified = verify_outcome(outcome, given.project, run, requested=policy, measure=measure)
    return _finish(outcome, given.stdin, verified, tried=run is not None, diff=diff, check=check)


def _rewritten(given: Given, policy: str | None, run: CaseRun | None, *, unsafe: bool) -> Outcome:
    """The rewrite in memory: safe fixes, and unsafe ones where they are asked for or a case is about to verify them."""

    def outcome(accept: Callable[[Plan], bool]) -> Outcome:
        return rewrite_sources(given.project, stack=given.stack, remat=policy, accept=accept)

    if unsafe:
        return outcome(lambda plan: True)
    safe = outcome(lambda plan: plan.safe)
    if run is None or not safe.held:
        return safe
    reached = reached_loops(safe.held, given.project, run)
    return outcome(lambda plan: plan.safe or plan.place in reached) if reached else safe


def _finish(
    outcome: Outcome, stdin: bytes | None, verified: "Verification | None", *, tried: bool, diff: bool, check: bool
) -> int:
    """Show or write the result, then sum up on standard error; answer the exit code.

    `verified` is None where nothing was verified: without cases, or, where there are some (`tried`), without changes.
    """
    from scanify.report.rewrite_text import render

    folder = Path.cwd()
    failed = verified is not None and not verified.good
    write = not (diff or check or failed)
    summary = render(outcome, folder, written=write, verified=tried and not failed)
    if diff:
        from scanify.report import diff as diff_report

        click.echo(diff_report.render(outcome.before, outcome.texts, folder), nl=False)
    if verified is not None:
        _print(verified)
    if failed:
        click.echo("scanify: verification failed; no file was changed", err=True)
        return Exit.VERIFICATION
    if write and stdin is not None:
        rewritten = [after for _, after in outcome.changes.values()]
        sys.stdout.buffer.write(*rewritten or [stdin])
        sys.stdout.flush()
    elif write:
        write_all(outcome.changes)
    click.echo(summary, nl=False, err=True)
    return Exit.FINDINGS if outcome.changes or outcome.analysis.skipped else Exit.OK


def _print(verified: "Verification") -> None:
    from rich.console import Console

    from scanify.report.verification_text import print_verification

    print_verification(verified, Console(stderr=True))
