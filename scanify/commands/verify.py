"""`scanify verify`: rewrite a file in memory, and compare the two versions."""

import json
from pathlib import Path

import click

from scanify.commands.cases import choose_run, limit_options, verify_outcome
from scanify.commands.common import REMAT_CHOICE, STDIN, load_project, stack_option
from scanify.config import REMATS, SYNONYMS
from scanify.errors import Exit, ScanifyError
from scanify.pipeline import Outcome, rewrite_sources
from scanify.report.sentences import shown


@click.command("verify", short_help="Verify the rewrite of a file on cases.")
@click.argument("file")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="A function that is given the module and answers (model, args), or a name of the configuration. May be given "
    "several times; without it, all cases of the configuration.",
)
@click.option(
    "--remat", "remats", multiple=True, type=REMAT_CHOICE, help="A policy to verify under; without it, every one."
)
@stack_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--measure/--no-measure", default=True, show_default=True, help="Compile both versions and measure them.")
@limit_options
def command(
    file: str,
    cases: tuple[str, ...],
    remats: tuple[str, ...],
    stack: str | None,
    form: str,
    measure: bool,
    abstract: bool,
    time_limit: float | None,
    memory_limit: str | None,
) -> int:
    """Rewrite the loops of FILE in memory, unsafe fixes included, and compare both versions on each case.

    Outputs and gradients are compared under each policy. Nothing is written. Exits with 3 if anything differs.
    """
    if file == STDIN:
        raise ScanifyError("standard input cannot be verified; name a file")
    if not Path(file).is_file():
        raise ScanifyError(f"expected a Python file, got {file}, which {_what_it_is(Path(file))}")
    given = load_project((file,), stack)
    run = choose_run(cases, given.config, time_limit, memory_limit, abstract=abstract)
    if run is None:
        raise ScanifyError("expected a case: give --case FILE:FUNCTION, or name one in [tool.scanify.cases]")
    remats = tuple(SYNONYMS.get(each, each) for each in remats)
    requested = remats[0] if len(remats) == 1 else None
    outcome = rewrite_sources(given.project, stack=given.stack, remat=requested, accept=lambda plan: True)
    _demand_changes(outcome, file)
    result = verify_outcome(
        outcome, given.project, run, requested=requested, measure=measure, policies=remats or REMATS
    )
    if form == "json":
        from scanify.report.verification_json import verification_json

        click.echo(json.dumps(verification_json(result), indent=2, allow_nan=False))
    else:
        from rich.console import Console

        from scanify.report.verification_text import print_verification

        print_verification(result, Console())
    return Exit.OK if result.good else Exit.VERIFICATION


def _what_it_is(path: Path) -> str:
    return "is a folder" if path.is_dir() else "does not exist"


def _demand_changes(outcome: Outcome, file: str) -> None:
    """Verifying nothing must not look like success."""
    if outcome.changes:
        return
    folder = Path.cwd()
    reasons = [f"line {loop.place.span.line}: {loop.rule} {loop.reason}" for loop in outcome.refused]
    reasons += [f"{shown(each.path, folder)} was skipped: {each.reason}" for each in outcome.analysis.skipped]
    why = "; ".join(reasons) or "it has no loop over layers, or was rewritten already"
    raise ScanifyError(f"nothing to verify: no loop in {file} can be rewritten ({why})")
