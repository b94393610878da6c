"""`scanify reroll --report`: the loops of a model's trace, in any framework, by what their scans would save."""

from typing import TYPE_CHECKING

import click

from scanify.commands.common import Given
from scanify.commands.verifying.model import case_option, opened
from scanify.commands.verifying.options import CaseRun, Running, limit_options
from scanify.errors import Exit
from scanify.report.progress import progress
from scanify.source.read import encode
from scanify.verify import verify

if TYPE_CHECKING:
    from scanify.verify.verdict import Verification

COMPARER = "scanify.rolling.reported:reported_case"


@click.command("reroll", short_help="List what repeats in a model's trace, by what a scan would save.")
@click.argument("file")
@click.option("--report", is_flag=True, required=True, help="List the loops; nothing is written.")
@case_option
@limit_options(recorded=False)
def command(file: str, report: bool, cases: tuple[str, ...], running: Running) -> int:
    """Trace the model of each case and list the equations that repeat, with the lines that they come from.

    `scanify.reroll` makes scans of them in the traced program, whatever the framework. `scanify rewrite` makes scans of
    the loops of Equinox models in the source, which also saves tracing every layer.
    """
    with opened(file, cases, running) as (given, run):
        done = _reported(given, run)
    for case in done.cases:
        click.echo(f"{case.name}: {case.error}" if case.error is not None else f"{case.name}: {case.notes[0]}")
        for note in case.notes[1:]:
            click.echo(f"  {note}")
    return Exit.VERIFICATION if any(case.error is not None for case in done.cases) else Exit.OK


def _reported(given: Given, run: CaseRun) -> "Verification":
    from rich.console import Console

    source = given.project.sources[0]
    data = encode(source, source.text)
    with progress(Console(stderr=True)) as notify:
        return verify(
            {source.path: (data, data)},
            run.cases,
            policies=(None,),
            requested=None,
            measure=False,
            limits=run.limits,
            target=source.path,
            notify=notify,
            comparer=COMPARER,
        )
