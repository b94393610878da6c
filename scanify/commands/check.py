"""`scanify check`: report the loops over layers, and change nothing."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from scanify.analysis.plan import Plan
from scanify.commands.common import (
    Given,
    analysing,
    in_colour,
    load_project,
    or_here,
    selection_options,
    stack_option,
    stdin_option,
    write_output,
)
from scanify.commands.kept import Kept, Report
from scanify.commands.recorded import reached_by
from scanify.commands.verifying.options import Running, limit_options
from scanify.configuration.chosen import Chosen, codes
from scanify.configuration.config import AUTO, Config
from scanify.configuration.ignoring import For, comments, idle, without
from scanify.errors import Exit, ScanifyError
from scanify.pipeline import for_target, heeded
from scanify.report.findings import statistics
from scanify.report.findings.finding import findings
from scanify.report.findings.formats import COLOURED, FORMATS, render
from scanify.report.sentences import plural, shown
from scanify.report.terminal import tell
from scanify.source.read import encode
from scanify.source.write import write_all

# Reports of analyses that take less CPU time than this, in seconds, are not cached.
WORTH_KEEPING = 0.5


@dataclass(frozen=True)
class Asked:
    """The requested report: its format, the chosen rules, and what it leaves out."""

    form: str
    chosen: Chosen
    statistics: bool = False
    quiet: bool = False
    colour: bool = False
    target: str = "scanify"
    policy: str | None = None
    undecided: bool = False


_codes: dict[str, Any] = {"multiple": True, "metavar": "CODES"}
_options: tuple[Callable[..., Any], ...] = (
    click.argument("paths", nargs=-1, metavar="[PATHS]...", callback=or_here),
    click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True),
    click.option(
        "--select", **_codes, help="Only these rules, or all that begin so: SCN1,SCN205. In place of `select`."
    ),
    click.option("--ignore", **_codes, help="None of these rules. In place of `ignore` of the configuration."),
    click.option("--undecided", is_flag=True, help="Loops whose layers the source leaves open, too."),
    click.option("--statistics", is_flag=True, help="How often each rule was found, in place of the findings."),
    click.option("-q", "--quiet", is_flag=True, help="The findings, and nothing where there are none."),
    click.option(
        "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the report to this file."
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found."),
    click.option("--fix-ignores", is_flag=True, help="Take out the comments that silence nothing."),
    click.option("--show-files", is_flag=True, help="List the files that would be read, and do nothing else."),
)


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_options):
        command = option(command)
    return command


@click.command("check", short_help="Report loops over layers; change nothing.")
@_with_options
@stack_option
@stdin_option
@selection_options
@click.option("--no-cache", is_flag=True, help="Neither look for a report on the same files nor keep this one.")
@limit_options(recorded=True)
def command(
    paths: tuple[str, ...],
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    undecided: bool,
    statistics: bool,
    quiet: bool,
    output: str | None,
    exit_zero: bool,
    fix_ignores: bool,
    show_files: bool,
    stack: str | None,
    stdin_filename: str | None,
    no_exclude: bool,
    no_gitignore: bool,
    no_cache: bool,
    running: Running,
) -> int:
    """Report every loop over layers in PATHS: loops that can be rewritten, and loops left alone, with the reason.
    Also report code that probably misuses stacks and scans of layers.

    PATHS are files and folders, by default the current folder; `-` reads standard input. Exits with 1 if a loop can be
    rewritten, a stack is misused or a file could not be read, else with 0: a refused loop is not a failure. Loops whose
    layers the source leaves open are counted, since a case or a run decides about them; --undecided shows them.

    With --run it also reports which of these loops a program of yours runs, so that a rewrite could be proved on it.
    """
    given = load_project(
        paths,
        stack,
        stdin_filename,
        no_exclude=no_exclude,
        no_gitignore=no_gitignore,
        quiet=quiet or show_files,
        writes=fix_ignores,
        commands=running.commands,
    )
    wanted = chosen(given.config, select, ignore)
    colour = form in COLOURED and output is None and in_colour()
    asked = Asked(form, wanted, statistics, quiet, colour, given.target, given.config.remat, undecided)
    if show_files:
        click.echo(_files(given), nl=False)
        return Exit.OK
    if fix_ignores:
        given = _fixed(given)
    report = _known_or_new(given, asked, running, keeps=not no_cache)
    if output is not None:
        write_output(output, report.text)
        return Exit.OK if exit_zero else report.code
    show = tell if form == FORMATS[0] else click.echo
    show(report.text, nl=False, color=asked.colour)
    return Exit.OK if exit_zero else report.code


def _known_or_new(given: Given, asked: Asked, running: Running, *, keeps: bool) -> Report:
    """Return a cached report on the same files, or create one."""
    # A lookup reads the whole project, which is not worth it if no file can contain a finding.
    looks_up = keeps and not running.commands and given.project.may_hold_findings()
    kept = Kept.of(given, repr(asked)) if looks_up else None
    report = kept.lookup() if kept is not None else None
    if report is None:
        begun = time.process_time()
        with analysing(given):
            report = _report(given, asked, running)
        if kept is not None and time.process_time() - begun > WORTH_KEEPING:
            kept.keep(report)
    return report


def chosen(config: Config, select: tuple[str, ...], ignore: tuple[str, ...]) -> Chosen:
    """Return the rules chosen by the configuration, overridden by the command line."""
    found = config.chosen
    if select:
        found = replace(found, select=codes(select, "--select"))
    return replace(found, ignore=codes(ignore, "--ignore")) if ignore else found


def _files(given: Given) -> str:
    project = given.project
    paths = sorted([*(each.path for each in project.sources), *(each.path for each in project.skipped)])
    return "".join(f"{shown(path, Path.cwd())}\n" for path in paths)


def _fixed(given: Given) -> Given:
    """Remove the comments that suppress nothing, and write the files."""
    project = given.project
    if given.stdin is not None:
        raise ScanifyError("--fix-ignores changes files, and standard input is none; name a file")
    found = idle(project, _made(given))
    texts = without(project.texts(), found)
    changes = {}
    for path, text in texts.items():
        source = project.source(path)
        changes[path] = (encode(source, source.text), encode(source, text))
    write_all(changes, given.config.root)
    tell(f"scanify: {plural(len(found), 'comment')} without effect taken out", err=True)
    return replace(given, project=project.with_texts(texts))


def _made(given: Given) -> "For":
    return For(given.stack, given.target, None if given.config.remat == AUTO else given.config.remat)


def _report(given: Given, asked: Asked, running: Running) -> Report:
    made = _made(given)
    every = given.project.analyse(stack=given.stack, remarks=True, target=made.target)
    every = heeded(given.project, for_target(given.project, every, made.target, made.policy))
    config = replace(given.config, chosen=asked.chosen)
    loops, remarks = tuple(filter(config.wants, every.loops)), tuple(filter(config.wants, every.remarks))
    analysis = replace(every, loops=loops, remarks=remarks)
    said = comments(given.project, made)
    idle = [each for each in said if config.chosen.takes(each.rule, each.place.path, config.root)]
    texts = given.project.texts()
    reached = reached_by(running, given.project, loops) if running.commands else None
    if not asked.undecided:
        analysis = analysis.without_undecided(reached.shown if reached is not None else frozenset())
    found = findings(
        analysis, texts, Path.cwd(), comments=idle, reached=reached, colour=asked.colour, summary=not asked.quiet
    )
    rewritable = any(isinstance(loop, Plan) for loop in loops)
    code = Exit.FINDINGS if rewritable or remarks or idle or analysis.failed else Exit.OK
    if asked.statistics:
        return Report(statistics.render(found, asked.form), code)
    return Report(render(found, asked.form), code)
