"""`scanify check`: report the loops over layers, and change nothing."""

import time
from pathlib import Path

import click

from scanify.analysis.plan import Plan
from scanify.commands.common import Given, load_project, paths_argument, selection_options, stack_option, stdin_option
from scanify.commands.kept import Kept, Report
from scanify.errors import Exit

# Seconds of CPU time that an analysis must take for its report to be kept.
WORTH_KEEPING = 0.5


@click.command("check", short_help="Report loops over layers; change nothing.")
@paths_argument
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@stack_option
@stdin_option
@selection_options
@click.option("--no-cache", is_flag=True, help="Neither look for a report on the same files nor keep this one.")
def command(
    paths: tuple[str, ...],
    form: str,
    stack: str | None,
    stdin_filename: str | None,
    no_exclude: bool,
    no_gitignore: bool,
    no_cache: bool,
) -> int:
    """Report every loop over layers in PATHS: those that can be rewritten, and those that are left as they are and why.

    PATHS are files and folders; `-` reads standard input. Exits with 1 if a loop can be rewritten or a file could not
    be read, and with 0 if not: a loop that is refused does not fail the command.
    """
    given = load_project(paths, stack, stdin_filename, no_exclude=no_exclude, no_gitignore=no_gitignore)
    kept = None if no_cache else Kept.of(given, form)
    report = kept.lookup() if kept is not None else None
    if report is None:
        begun = time.process_time()
        report = _report(given, form)
        if kept is not None and time.process_time() - begun > WORTH_KEEPING:
            kept.keep(report)
    click.echo(report.text, nl=False)
    return report.code


def _report(given: Given, form: str) -> Report:
    analysis = given.project.analyse(stack=given.stack)
    if form == "json":
        from scanify.report.check_json import render
    else:
        from scanify.report.check_text import render
    rewritable = any(isinstance(loop, Plan) for loop in analysis.loops)
    return Report(render(analysis, Path.cwd()), Exit.FINDINGS if rewritable or analysis.failed else Exit.OK)
