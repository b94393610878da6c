"""`scanify case`: propose cases for the models of a file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.analysis.plan import Plan
from scanify.commands.common import STDIN, load_project
from scanify.commands.recorded.reached import loops_at
from scanify.commands.verifying.cases import demand_importable
from scanify.commands.verifying.options import Running, choose_commands, limit_options
from scanify.errors import Exit, ScanifyError
from scanify.propose.from_run import propose_from_run
from scanify.propose.propose import LIMITS, propose
from scanify.propose.skeleton import skeleton
from scanify.propose.write import render
from scanify.report.progress import progress
from scanify.report.sentences import shown
from scanify.report.terminal import tell
from scanify.source.file import Source
from scanify.source.read import encode

if TYPE_CHECKING:
    from scanify.propose.propose import Proposals


@click.command("case", short_help="Propose cases for the models of a file.")
@click.argument("file")
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="NAME",
    help="A class to propose a case for, whether or not it has a loop. May be given several times.",
)
@click.option("-o", "--output", metavar="CASES", help="The file to write the cases to; without it they are printed.")
@click.option("--force", is_flag=True, help="Overwrite the file of --output.")
@limit_options(recorded=True)
def command(
    file: str,
    classes: tuple[str, ...],
    output: str | None,
    force: bool,
    running: Running,
) -> int:
    """Propose a case for each model of FILE whose layer loop would be rewritten, to be edited and used for
    verification.

    Constructor signatures, configurations and annotations give small sizes that fit together; the arguments of the call
    are found by tracing candidates in a separate process. Exits with 1 if no case could be proposed.

    With --run, cases are written from the calls that a program of yours makes: with its configurations and sizes, and
    with new arrays of the same shapes.
    """
    if running.commands and classes:
        raise ScanifyError("--class names what to propose a case for, and --run takes the calls of a program; give one")
    _check_paths(file, output, force=force)
    given = load_project((file,), None)
    if not given.project.sources:
        reasons = "; ".join(each.reason for each in given.project.skipped)
        raise ScanifyError(f"{file} could not be read: {reasons or 'it is no Python file'}")
    source = given.project.sources[0]
    loops = () if classes else given.project.analyse().loops
    plans = [loop for loop in loops if isinstance(loop, Plan)]
    if not classes and not plans:
        reasons = "; ".join(f"{loop.place.named}: {loop.rule}" for loop in loops) or "it has none"
        tell(f"scanify: no layer loop of {file} would be rewritten ({reasons}); name a class with --class", err=True)
        return Exit.FINDINGS
    if running.commands:
        proposals = _from_run(source, plans, running)
    else:
        proposals = _proposed(source.path, source.text, plans, classes, running)
    return _finish(proposals, source.text, output, recorded=bool(running.commands))


def _check_paths(file: str, output: str | None, *, force: bool) -> None:
    if file == STDIN:
        raise ScanifyError("a model on standard input cannot be imported; name a file")
    path = Path(file)
    if not path.is_file():
        raise ScanifyError(f"expected a Python file, got {file}, which {_what_it_is(path)}")
    demand_importable(path)
    if output is None:
        if force:
            raise ScanifyError("--force goes with --output, the file to overwrite")
        return
    out = Path(output)
    if out.suffix != ".py":
        raise ScanifyError(f"expected a Python file (.py) for --output, got {output}")
    if not out.parent.is_dir():
        raise ScanifyError(f"expected --output in a folder that exists, got {output}")
    if out.is_dir() or (out.exists() and out.samefile(path)):
        raise ScanifyError(f"expected --output to be a file of its own, got {output}")
    if out.exists() and not force:
        raise ScanifyError(f"{output} exists; give --force to overwrite it")


def _what_it_is(path: Path) -> str:
    return "is a folder" if path.is_dir() else "does not exist"


def _proposed(
    path: Path,
    text: str,
    plans: list[Plan],
    classes: tuple[str, ...],
    running: Running,
) -> "Proposals":
    from rich.console import Console

    with progress(Console(stderr=True)) as notify:
        return propose(path, text, plans, classes=classes, limits=running.limited(LIMITS), notify=notify)


def _from_run(source: Source, plans: list[Plan], running: Running) -> "Proposals":
    from rich.console import Console

    watched = loops_at([plan.place for plan in plans if plan.place.path == source.path])
    data, commands = encode(source, source.text), choose_commands(running.commands)
    with progress(Console(stderr=True)) as notify:
        return propose_from_run(source.path, data, watched, commands, limits=running.limits, notify=notify)


def _finish(proposals: "Proposals", source: str, output: str | None, *, recorded: bool) -> int:
    """Print or write the cases and the skeletons to fill in, report declined ones, and return the exit code."""
    model = shown(proposals.target, Path.cwd())
    unwritten = [] if recorded else proposals.declined
    to_fill = [skeleton(source, each.cls) for each in unwritten if each.cls and each.imports]
    for each in proposals.declined:
        tell(f"scanify: no case for {each.cls or model}: " + "\n".join(each.reasons), err=True)
    if not all(each.imports for each in proposals.declined):
        tell(
            "scanify: a case runs the model, so its file has to import: install what it misses, then ask again",
            err=True,
        )
    if proposals.cases or to_fill:
        text = render(proposals.cases, model, to_fill, recorded=recorded)
        if output is None:
            click.echo(text, nl=False)
        else:
            Path(output).write_text(text, encoding="utf-8")
        _say_what_next([each.function for each in proposals.cases], [each.function for each in to_fill], model, output)
    return Exit.OK if proposals.cases else Exit.FINDINGS


def _say_what_next(cases: list[str], to_fill: list[str], model: str, output: str | None) -> None:
    file = output or "cases.py"
    if output is not None:
        tell(f"scanify: wrote {', '.join(f'{file}:{each}' for each in (*cases, *to_fill))}", err=True)
    elif cases and not to_fill:
        return
    then = f"scanify rewrite {model} --case {file}:{(*cases, *to_fill)[0]} --diff"
    todo = [f"put values for `...` in {', '.join(to_fill)}"] if to_fill else []
    todo += ["look at the sizes"] if cases else []
    tell(f"scanify: {' and '.join(todo)}, then: {then}", err=True)
