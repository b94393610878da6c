"""`scanify profile`: which loops of the source a model's programs come from."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scanify.analysis.plan import Plan, Refusal
from scanify.commands.common import Given, write_output
from scanify.commands.recorded.reached import loops_at
from scanify.commands.verifying.model import case_option, opened
from scanify.commands.verifying.options import CaseRun, Running, limit_options
from scanify.errors import Exit, ScanifyError
from scanify.pipeline import Outcome, rewrite_sources
from scanify.report.profile import print_profile, profile_text
from scanify.report.profile.html import profile_html
from scanify.report.profile.json import profile_json
from scanify.report.profile.profile import Profile
from scanify.report.progress import progress
from scanify.report.terminal import tell
from scanify.source.read import encode
from scanify.verify import verify

if TYPE_CHECKING:
    from scanify.verify.request import Loops
    from scanify.verify.verdict import Verification

_BUDGET = re.compile(r"lines=(\d[\d_,]*)")


@click.command("profile", short_help="Show which loops a model's programs come from.")
@click.argument("file")
@case_option
@click.option(
    "--compile",
    "compiles",
    is_flag=True,
    help="Compile the programs, too: the time that it takes, and the memory of temporaries.",
)
@click.option(
    "--budget",
    metavar="lines=N",
    help="Exit with 1 if a program has more StableHLO lines. Lines are the same on every machine; seconds are not.",
)
@click.option("--format", "form", type=click.Choice(("text", "json", "html")), default="text", show_default=True)
@click.option("--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write the report to this file.")
@limit_options(recorded=True)
def command(
    file: str,
    cases: tuple[str, ...],
    compiles: bool,
    budget: str | None,
    form: str,
    output: str | None,
    running: Running,
) -> int:
    """Trace the unchanged model of each case, and show which loops of its source its programs come from.

    The programs are the jitted constructor, the call, and the call with its gradient. Code traced in each iteration of
    a Python loop is compiled once per iteration: the table shows how much that is, and what scanify says about the
    loop. If scanify rewrites the file, the sizes after the rewrite are shown, too. With --run the calls come from a
    program of yours, and there is no constructor. Nothing is written.
    """
    allowed = _lines(budget)
    with opened(file, cases, running) as (given, run):
        profile = _profile(given, run, allowed, compiles=compiles)
    _report(profile, form, output)
    if profile.failed:
        return Exit.VERIFICATION
    return Exit.FINDINGS if any(profile.over()) else Exit.OK


def _lines(budget: str | None) -> int | None:
    """Parse `--budget`. Raises ScanifyError if it is not a number of lines."""
    if budget is None:
        return None
    found = _BUDGET.fullmatch(budget.replace(" ", ""))
    if found is None:
        raise ScanifyError(f"a budget is a number of StableHLO lines, such as --budget lines=20000; got {budget!r}")
    return int(re.sub("[_,]", "", found[1]))


def _profile(given: Given, run: CaseRun, budget: int | None, *, compiles: bool) -> "Profile":
    outcome = rewrite_sources(given.project, stack=given.stack, remat=None, accept=lambda plan: True)
    loops = given.project.analyse(stack=given.stack).loops
    done = _profiled(given, run, outcome, loops_at([loop.place for loop in loops]), compiles=compiles)
    at = {loop: (os.path.normpath(Path(loop.place.path).absolute()), loop.place.span.line) for loop in loops}
    scans = {at[loop] for loop in loops if isinstance(loop, Plan)}
    return Profile(done.cases, {at[loop]: _advice(loop) for loop in loops}, scans, done.versions, budget)


def _profiled(
    given: Given, run: CaseRun, outcome: Outcome, watched: "tuple[Loops, ...]", *, compiles: bool
) -> "Verification":
    from rich.console import Console

    source = given.project.sources[0]
    data = encode(source, source.text)
    changes = {source.path: (data, data)} | dict(outcome.changes)
    comparer = "profiled_both" if outcome.changes else "profiled_case"
    with progress(Console(stderr=True)) as notify:
        return verify(
            changes,
            run.cases,
            policies=(None,),
            requested=None,
            measure=compiles,
            limits=run.limits,
            target=source.path,
            notify=notify,
            comparer=f"scanify.verify.profile.profiled:{comparer}",
            watched=watched,
        )


def _advice(loop: Plan | Refusal) -> str:
    if isinstance(loop, Refusal):
        return f"{loop.rule}: left as it is: {loop.reason}"
    return f"{loop.rule}: scanify rewrite makes a scan of it"


def _report(profile: "Profile", form: str, output: str | None) -> None:
    if form == "text" and output is None:
        from rich.console import Console

        print_profile(profile, Console())
        return
    text = _document(profile, form)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_output(output, text)
        tell(f"{output}: the report")


def _document(profile: "Profile", form: str) -> str:
    if form == "json":
        return json.dumps(profile_json(profile), indent=2, allow_nan=False) + "\n"
    if form == "html":
        return profile_html(profile)
    return profile_text(profile)
