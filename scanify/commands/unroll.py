"""`scanify unroll`: turn scans over stacked layers back into lists and loops."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.obligation import ELSEWHERE, UNSAFE
from scanify.analysis.plan import Analysis, Skipped
from scanify.analysis.unparsed import unparsed
from scanify.commands.common import Given, load_project, paths_argument, selection_options, stdin_option, unsafe_options
from scanify.commands.recorded.evidence import shown_by_cases
from scanify.commands.verifying.cases import verify_outcome
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
from scanify.errors import Exit
from scanify.pipeline import Outcome
from scanify.report.sentences import DISCHARGE, UNREACHED, accept
from scanify.report.terminal import tell
from scanify.report.unroll_text import render
from scanify.report.verification import print_verification
from scanify.unrolling.project import Unrolling, unroll_project

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification


@click.command("unroll", short_help="Turn scans over stacks back into lists and loops.")
@paths_argument
@showing_options
@unsafe_options("Also write loops that nothing shows to be the scans.")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="Verify the loops against the scans on this case first, and write nothing if that fails.",
)
@no_verify_option
@run_options(recorded=False)
@stdin_option
@selection_options
def command(
    paths: tuple[str, ...],
    diff: bool,
    check: bool,
    quiet: bool,
    accepted: frozenset[str],
    cases: tuple[str, ...],
    no_verify: bool,
    running: Running,
    stdin_filename: str | None,
    no_exclude: bool,
    no_gitignore: bool,
) -> int:
    """Turn the stacks in PATHS back into lists, and the scans over them into loops.

    Files that `scanify rewrite` has changed get their previous text back, byte for byte, with the changes made since.
    Other loops are derived from the source: they are safe if rewriting them gives the scans back; others are written
    with --unsafe, or when a case has just verified them, unless other code may need the stack (see --accept).

    Remat policies belong to stacks and are removed with them. Exits as `scanify rewrite` does.
    """
    demand_no_contradiction(cases, no_verify=no_verify)
    given = load_project(paths, None, stdin_filename, no_exclude=no_exclude, no_gitignore=no_gitignore)
    run = run_before_writing(cases, given, running, no_verify)
    found = unroll_project(given.project, unsafe=UNSAFE in accepted)
    beyond = found.elsewhere if found.held and ELSEWHERE not in accepted else ()
    if found.held and not beyond:
        found = _reached(given, found, run)
    changed = bool(found.changes(given.project))
    verified = _verified(given, found, run) if run is not None and changed else None
    showing = Showing(diff, check, quiet)
    code = _finish(given, found, verified, showing, beyond if run is not None else ())
    return Exit.FINDINGS if code == Exit.OK and showing.only and changed else code


def _reached(given: Given, found: Unrolling, run: CaseRun | None) -> Unrolling:
    """Add the loops held back if cases are about to run all of them, or if no other obligation is left."""
    taken = replace(found, texts=found.held, held={})
    if set(found.obligations) <= set(found.elsewhere):
        return taken
    if run is None or not found.loops:
        return found if run is None else taken
    loops = given.project.with_texts(found.held)
    reached, unlike = shown_by_cases(found.loops, loops, run)
    return taken if all(plan.place in reached | unlike.keys() for plan in found.loops) else found


def _verified(given: Given, found: Unrolling, run: CaseRun) -> "Verification":
    """Verify the scans against the loops, with the loops as the version before."""
    changes = found.changes(given.project)
    swapped = {path: (loop, scan) for path, (scan, loop) in changes.items()}
    loops = given.project.with_texts(found.texts)
    outcome = Outcome(Analysis(len(loops.sources)), applied=found.loops, changes=swapped)
    return verify_outcome(outcome, loops, run, requested=None, measure=False, policies=(None,))


def _finish(
    given: Given, found: Unrolling, verified: "Verification | None", showing: Showing, beyond: Sequence[str]
) -> int:
    """Show or write the result, print a summary on standard error, and return the exit code.

    `beyond` holds the obligations that no case can show, because of which everything was held back.
    """
    folder, changes = Path.cwd(), found.changes(given.project)
    failed = verified is not None and not verified.good
    write = not (showing.only or failed)
    if showing.diff:
        before = given.project.texts()
        show_diff(before, {**before, **found.texts})
    if verified is not None and (failed or not showing.quiet):
        from rich.console import Console

        print_verification(verified, Console(stderr=True))
    if failed:
        tell("scanify: verification failed; no file was changed", err=True)
        return Exit.VERIFICATION
    if write:
        put(changes, given)
    skipped = _skipped(given)
    shown = verified is not None
    advice = accept([ELSEWHERE]) if beyond else UNREACHED if shown else DISCHARGE
    summary = render(found, folder, skipped, changed=len(changes), written=write, verified=shown, advice=advice)
    incomplete = any(each.fails for each in skipped) or bool(beyond)
    showing.sum_up(summary, failed=incomplete)
    return Exit.FINDINGS if incomplete else Exit.OK


def _skipped(given: Given) -> list[Skipped]:
    """Return the files that could not be read or parsed."""
    texts = given.project.texts()
    problems = {path: found for path, text in texts.items() if isinstance(found := parse(text), Problem)}
    return [*given.project.skipped, *(unparsed(path, texts[path], found) for path, found in problems.items())]
