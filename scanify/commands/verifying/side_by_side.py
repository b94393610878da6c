"""`--steps`: the losses of both versions of the cases while they are trained."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from scanify.errors import ScanifyError

if TYPE_CHECKING:
    from scanify.verify.verdict import CaseResult, Verification

steps_option = click.option(
    "--steps",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also train both versions for N steps, each from the parameters of its own constructor, on the arguments of "
    "the case, and print the losses of both. The case's attribute `optimizer` is what trains, SGD without it; its "
    "attribute `loss` is called with what the model returns and the arguments of the call. Without it, the loss is the "
    "output if that is a scalar float, or the mean square of all outputs.",
)


def demand_values(steps: int | None, *, abstract: bool) -> None:
    """Raises ScanifyError if models without weights were to be trained."""
    if steps is not None and abstract:
        raise ScanifyError("--steps trains the model, and --abstract builds it without weights; give one of them")


def with_losses(result: "Verification", verify: "Callable[..., Verification]") -> "Verification":
    """The verification with the losses of its cases, from processes of their own.

    `verify` runs the cases, given the comparer. A case that cannot be trained is NOT RUN, with the reason.
    """
    done = verify(policies=(None,), comparer="scanify.verify.training.side_by_side:trained_case", measure=False)
    found = {case.name: case for case in done.cases}
    return replace(result, cases=tuple(_with(case, found.get(case.name)) for case in result.cases))


def _with(case: "CaseResult", trained: "CaseResult | None") -> "CaseResult":
    from scanify.verify.verdict import Status, Verdict

    if case.error is not None or trained is None:
        return case
    if trained.error is not None:
        return replace(case, training=Verdict(Status.NOT_RUN, trained.error))
    return replace(case, training=trained.training, losses=trained.losses)
