"""The model that a command traces: one file, with the cases named for it or a proposed case."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from scanify.commands.common import Given, load_project
from scanify.commands.verifying.cases import demand_importable
from scanify.commands.verifying.options import CaseRun, Running, choose_run
from scanify.commands.verifying.proposed import proposed_run
from scanify.errors import ScanifyError

case_option = click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="FILE:FUNCTION",
    help="A function that is given the module and answers (model, args), or a name of the configuration; see verify.",
)


@contextmanager
def opened(file: str, cases: tuple[str, ...], running: Running) -> Iterator[tuple[Given, CaseRun]]:
    """Yield the file and its cases; a proposed case exists only in the `with`. Raises ScanifyError without a model."""
    demand_importable(Path(file))
    given = load_project((file,), None)
    if not given.project.sources:
        raise ScanifyError(f"expected a Python file, got {file}")
    run = choose_run(cases, given.config, running)
    if run is not None:
        yield given, run
        return
    with proposed_run(given, running) as proposed:
        yield given, proposed
