"""Verifying without a case: one is proposed, reported, and used."""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.plan import Plan
from scanify.commands.common import Given
from scanify.commands.verifying.options import CaseRun, Running
from scanify.errors import ScanifyError
from scanify.propose.owners import owners
from scanify.propose.propose import propose, written
from scanify.propose.uses.texts import script_with
from scanify.report.progress import progress
from scanify.report.sentences import shown
from scanify.report.terminal import tell
from scanify.source.notebook.text import is_notebook

if TYPE_CHECKING:
    from scanify.propose.propose import Proposals


@contextmanager
def proposed_run(given: Given, running: Running) -> Iterator[CaseRun]:
    """Yield a run on the cases proposed for the only file of the project; they exist only inside the `with`.

    The proposal is reported on standard error, since a verdict holds for the sizes of its case. Raises ScanifyError
    with the reasons if no case could be proposed.
    """
    plans = [loop for loop in given.project.analyse().loops if isinstance(loop, Plan)]
    if not given.project.sources:
        raise ScanifyError("expected a case: give --case FILE:FUNCTION, or name one in [tool.scanify.cases]")
    proposals = _proposals(given, plans)
    if not proposals.cases:
        raise ScanifyError(
            f"expected a case: give --case FILE:FUNCTION, or name one in [tool.scanify.cases]. {_none(proposals)}"
        )
    with _run(proposals, running) as run:
        yield run


@contextmanager
def run_for_held(held: Sequence[Plan], given: Given, running: Running) -> Iterator[CaseRun | None]:
    """Yield a run on cases proposed for loops held back in the only file of the project, or None without any case.

    The reason is printed on standard error, since safe fixes need no case. Nothing is tried for several files, for
    notebooks, or for loops with obligations that no case can show.
    """
    plans = [plan for plan in held if not is_notebook(plan.place.path) and not plan.beyond_cases(given.accepted)]
    proposals = None
    if plans and len(given.project.sources) == 1 and importlib.util.find_spec("equinox") is not None:
        proposals = _proposals(given, plans)
        if not proposals.cases:
            tell(f"scanify: {_none(proposals)}", err=True)
    if proposals is None or not proposals.cases:
        yield None
        return
    with _run(proposals, running) as run:
        yield run


@contextmanager
def _run(proposals: "Proposals", running: Running) -> Iterator[CaseRun]:
    name = shown(proposals.target, Path.cwd())
    for each in proposals.cases:
        tell(
            f"scanify: no case was given; using {each.function}, proposed for {each.cls} (`scanify case {name}` "
            "prints it, to be edited and kept)",
            err=True,
        )
    with written(proposals) as cases:
        yield CaseRun(cases, running.limits, running.abstract, execute=running.execute, proposed=True)


def _proposals(given: Given, plans: Sequence[Plan]) -> "Proposals":
    from rich.console import Console

    source = given.project.sources[0]
    with progress(Console(stderr=True)) as notify:
        return propose(source.path, source.text, plans, notify=notify)


def _none(proposals: "Proposals") -> str:
    """Explain why there is no case."""
    name = shown(proposals.target, Path.cwd())
    reasons = [
        f"{each.cls or proposals.target.name}: {reason}" for each in proposals.declined for reason in each.reasons
    ]
    return f"None could be proposed for {name}: {'; '.join(reasons) or 'no loop over layers of it would be rewritten'}"


def commands_that_prove(held: Sequence[Plan], given: Given) -> dict[Place, str]:
    """Return for each loop the command line that would prove its rewrite.

    The command runs a test or script of the project that builds the class with the loop; otherwise it is `scanify
    case`.
    """
    found = {}
    for plan in held:
        if is_notebook(plan.place.path) or plan.beyond_cases(given.accepted):
            continue
        name = shown(plan.place.path, Path.cwd())
        text = given.project.source(plan.place.path).text
        try:
            cls = owners(text, [(plan.place.span.line, plan.place.span.end_line)])[0].cls
        except SyntaxError:  # syntax of a later Python version
            cls = None
        script = script_with(plan.place.path, cls.rpartition(".")[2]) if cls else None
        program = (
            "" if script is None else f"{'pytest' if 'test' in script.name else 'python'} {shown(script, Path.cwd())}"
        )
        found[plan.place] = (
            f'scanify rewrite {name} --run "{program}"' if program else f"scanify case {name} -o cases.py"
        )
    return found
