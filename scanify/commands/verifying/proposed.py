"""Verifying without a case: one is proposed, said, and used."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.plan import Plan
from scanify.commands.common import Given
from scanify.commands.verifying.options import CaseRun, Running
from scanify.errors import ScanifyError
from scanify.report.sentences import shown
from scanify.report.terminal import tell

if TYPE_CHECKING:
    from scanify.propose.propose import Proposals


@contextmanager
def proposed_run(given: Given, running: Running) -> Iterator[CaseRun]:
    """A run on the cases that are proposed for the one file that was given, which exist inside the `with`.

    What was proposed is said on standard error: a verdict holds for the sizes that it was found with.

    Raises ScanifyError where no case could be proposed, with the reasons.
    """
    from scanify.propose.propose import written

    proposals = _proposals(given)
    name = shown(proposals.target, Path.cwd())
    for each in proposals.cases:
        tell(
            f"scanify: no case was given; using {each.function}, proposed for {each.cls} (`scanify case {name}` "
            "prints it, to be edited and kept)",
            err=True,
        )
    with written(proposals) as cases:
        yield CaseRun(cases, running.limits, running.abstract, execute=running.execute)


def _proposals(given: Given) -> "Proposals":
    from rich.console import Console

    from scanify.propose.propose import propose
    from scanify.report.progress import progress

    if not given.project.sources:
        raise ScanifyError("expected a case: give --case FILE:FUNCTION, or name one in [tool.scanify.cases]")
    source = given.project.sources[0]
    plans = [loop for loop in given.project.analyse().loops if isinstance(loop, Plan)]
    with progress(Console(stderr=True)) as notify:
        proposals = propose(source.path, source.text, plans, notify=notify)
    if not proposals.cases:
        reasons = [
            f"{each.cls or source.path.name}: {reason}" for each in proposals.declined for reason in each.reasons
        ]
        why = "; ".join(reasons) or "no loop over layers of it would be rewritten"
        raise ScanifyError(
            f"expected a case: give --case FILE:FUNCTION, or name one in [tool.scanify.cases]. None could be proposed "
            f"for {shown(source.path, Path.cwd())}: {why}"
        )
    return proposals
