"""`scanify unroll`: turn scans over stacked layers back into lists and loops."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.analysis.plan import Analysis
from scanify.commands.common import Given, load_project, paths_argument, selection_options, stdin_option
from scanify.commands.verifying.cases import CaseRun, choose_run, reached_loops, run_options, verify_outcome
from scanify.errors import Exit, ScanifyError
from scanify.pipeline import Outcome
from scanify.report.terminal import tell
from scanify.source.write import write_all
from scanify.unrolling.project import Unrolling, unroll_project

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


@click.command("unroll", short_help="Turn scans over stacks back into lists and loops.")
@paths_argument
@click.option("--diff", is_flag=True, help="Show what would change as a unified diff; write nothing.")
@click.option("--check", is_flag=True, help="Only say whether anything would change, with exit code 1; write nothing.")
@click.option("--unsafe", is_flag=True, help="Also write loops that nothing shows to be the scans.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="Verify the loops against the scans on this case first, and write nothing if that fails.",
)
@click.option("--no-verify", is_flag=True, help="Do not run the cases of the configuration.")
@run_options
@stdin_option
@selection_options
def command(
    paths: tuple[str, ...],
    diff: bool,
    check: bool,
    unsafe: bool,
    cases: tuple[str, ...],
    no_verify: bool,
    abstract: bool,
    execute: bool,
    time_limit: float | None,
    memory_limit: str | None,
    stdin_filename: str | None,
    no_exclude: bool,
    no_gitignore: bool,
) -> int:
    """Turn the stacks in PATHS back into lists, and the scans over them into loops.

    Files that `scanify rewrite` has changed get the text back that they had, byte for byte, with what was changed
    since. Other loops are read off the source: they are safe where a rewrite of them gives the scans back; others are
    written with --unsafe, or when a case has just verified them. Remat policies belong to stacks and are gone with
    them. Exits as `scanify rewrite` does.
    """
    if cases and no_verify:
        raise ScanifyError("--case and --no-verify contradict each other; give one of them")
    given = load_project(paths, None, stdin_filename, no_exclude=no_exclude, no_gitignore=no_gitignore)
    run = (
        None
        if no_verify
        else choose_run(cases, given.config, time_limit, memory_limit, abstract=abstract, execute=execute)
    )
    if run is not None and given.stdin is not None:
        raise ScanifyError("standard input cannot be verified; name a file, or give --no-verify")
    found = unroll_project(given.project, unsafe=unsafe)
    if run is not None:
        found = _reached(given, found, run)
    changed = bool(found.changes(given.project))
    verified = _verified(given, found, run) if run is not None and changed else None
    code = _finish(given, found, verified, diff=diff, check=check)
    return Exit.FINDINGS if code == Exit.OK and (diff or check) and changed else code


def _reached(given: Given, found: Unrolling, run: CaseRun) -> Unrolling:
    """The same with what was held back, where cases are about to run all of its loops."""
    if not found.held or not found.loops:
        return found if not found.held else _taken(found)
    loops = given.project.with_texts(found.held)
    reached = reached_loops(found.loops, loops, run)
    return _taken(found) if all(plan.place in reached for plan in found.loops) else found


def _taken(found: Unrolling) -> Unrolling:
    return replace(found, texts=found.held, held={})


def _verified(given: Given, found: Unrolling, run: CaseRun) -> "Verification":
    """The scans held against the loops, which are what the scans stand for: the loop is the version before."""
    changes = found.changes(given.project)
    swapped = {path: (loop, scan) for path, (scan, loop) in changes.items()}
    loops = given.project.with_texts(found.texts)
    outcome = Outcome(Analysis(len(loops.sources)), applied=found.loops, changes=swapped)
    return verify_outcome(outcome, loops, run, requested=None, measure=False, policies=(None,))


def _finish(
    given: Given,
    found: Unrolling,
    verified: "Verification | None",
    *,
    diff: bool,
    check: bool,
) -> int:
    """Show or write the result, then sum up on standard error; answer the exit code."""
    from scanify.report.unroll_text import render

    folder, changes = Path.cwd(), found.changes(given.project)
    failed = verified is not None and not verified.good
    write = not (diff or check or failed)
    if diff:
        from scanify.report import diff as diff_report

        before = given.project.texts()
        click.echo(diff_report.render(before, {**before, **found.texts}, folder), nl=False)
    if verified is not None:
        from rich.console import Console

        from scanify.report.verification.text import print_verification

        print_verification(verified, Console(stderr=True))
    if failed:
        tell("scanify: verification failed; no file was changed", err=True)
        return Exit.VERIFICATION
    if write and given.stdin is not None:
        sys.stdout.buffer.write(*[after for _, after in changes.values()] or [given.stdin])
        sys.stdout.flush()
    elif write:
        write_all(changes, given.config.root)
    summary = render(found, folder, changed=len(changes), written=write, verified=verified is not None)
    tell(summary, nl=False, err=True)
    return Exit.FINDINGS if any(each.fails for each in given.project.skipped) else Exit.OK
