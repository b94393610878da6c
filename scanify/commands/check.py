"""`scanify check`: report the loops over layers, and change nothing."""

from pathlib import Path

import click

from scanify.analysis.plan import Plan
from scanify.commands.common import load_project, paths_argument, selection_options, stack_option, stdin_option
from scanify.errors import Exit


@click.command("check", short_help="Report loops over layers; change nothing.")
@paths_argument
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@stack_option
@stdin_option
@selection_options
def command(
    paths: tuple[str, ...],
    form: str,
    stack: str | None,
    stdin_filename: str | None,
    no_exclude: bool,
    no_gitignore: bool,
) -> int:
    """Report every loop over layers in PATHS: those that can be rewritten, and those that are left as they are and why.

    PATHS are files and folders; `-` reads standard input. Exits with 1 if a loop can be rewritten or a file could not
    be read, and with 0 if not: a loop that is refused does not fail the command.
    """
    given = load_project(paths, stack, stdin_filename, no_exclude=no_exclude, no_gitignore=no_gitignore)
    analysis = given.project.analyse(stack=given.stack)
    if form == "json":
        from scanify.report.check_json import render
    else:
        from scanify.report.check_text import render
    click.echo(render(analysis, Path.cwd()), nl=False)
    rewritable = any(isinstance(loop, Plan) for loop in analysis.loops)
    return Exit.FINDINGS if rewritable or analysis.skipped else Exit.OK
