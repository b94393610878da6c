"""The package's files rewritten by scanify's own pipeline, and verified on the model's case."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from scanify.configuration.config import REMATS
from scanify.errors import ScanifyError
from scanify.pipeline import Outcome, Project, rewrite_sources
from scanify.source.discover import Selection
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.limits import Limits
from scanify.verify.run import verify
from scanify.verify.verdict import Status
from tests.packages.models import CASES, Model
from tests.packages.row import REWRITTEN, Row

LIMITS = Limits(seconds=1200)


def rewrite(model: Model, source: Path, stack: Literal["init", "call"] | None = None) -> Outcome | str:
    """What scanify would change in the whole package, unsafe fixes included; why not, where the loop is left alone.

    Of a package of Flax Linen only the model's file is rewritten: transformers has a million lines.
    """
    named = source / model.file if model.target == "linen" else source
    try:
        outcome = rewrite_sources(
            Project.load([named], selection=Selection(source)),
            stack=stack,
            accept=lambda plan: True,
            target=model.target,
        )
    except ScanifyError as error:
        return f"scanify rewrite: {error}"
    path, line = source / model.file, model.line
    where = [loop for loop in outcome.analysis.loops if loop.place.path == path and loop.place.span.line == line]
    if not where:
        return f"scanify finds no loop over layers at {model.file}:{line}"
    refused = [loop for loop in outcome.refused if loop in where]
    return f"{refused[0].rule} {refused[0].reason}" if refused else outcome


def verify_rewrite(model: Model, source: Path, outcome: Outcome) -> Row:
    """Both versions of the package compared on the case, under all policies, in a process of its own.

    Where the model with its list built stacked cannot be built at all, the list is stacked in the call.
    """
    row = _compared(model, source, outcome)
    if set(row.counts()) != {Status.NOT_RUN} or row.result is None or row.result.parameters is None:
        return row
    in_call = rewrite(model, source, "call")
    if isinstance(in_call, str):
        return row
    why = f"with the list built stacked: {row.result.parameters.reason}"
    row = _compared(model, source, in_call)
    return replace(row, how=f"{REWRITTEN}, stacked in the call", notes=(why, *row.notes))


def _compared(model: Model, source: Path, outcome: Outcome) -> Row:
    file = Path(__file__).with_name(CASES[model.target]) / f"{model.name}.py"
    case = CaseSpec(file, "case", f"{model.name}.py:case")
    done = verify(
        outcome.changes,
        [case],
        policies=REMATS,
        requested=None,
        measure=False,
        limits=LIMITS,
        target=source / model.file,
    )
    result = done.cases[0]
    plan = next(plan for plan in outcome.applied if plan.place.path == source / model.file)
    unsafe = tuple(f"unsafe: {each}" for each in plan.obligations)
    return Row(model.requirement, model.title, REWRITTEN, "", result, notes=unsafe)
