"""Further runs of the cases after their comparison, in separate processes: `--mesh` and `--steps`."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from scanify.errors import ScanifyError
from scanify.verify.verdict import Status, Verdict

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
    """Raise ScanifyError if models without weights were to be trained."""
    if steps is not None and abstract:
        raise ScanifyError("--steps trains the model, and --abstract builds it without weights; give one of them")


def with_mesh(result: "Verification", verify: "Callable[..., Verification]") -> "Verification":
    """Add the figures of each case on a mesh, from a process with as many devices.

    `verify` runs the cases with the given comparer. A case that cannot be compiled for the mesh fails.
    """

    def added(case: "CaseResult", meshed: "CaseResult") -> "CaseResult":
        if meshed.error is not None:
            return replace(case, findings=(*case.findings, f"on the mesh: {meshed.error}"))
        return replace(case, on_mesh=meshed.on_mesh)

    return _joined(result, verify(comparer="scanify.verify.mesh.partitioned:partitioned_case", measure=False), added)


def with_losses(result: "Verification", verify: "Callable[..., Verification]") -> "Verification":
    """Add the training losses of each case.

    `verify` runs the cases with the given policies and comparer. A case that cannot be trained is NOT RUN.
    """

    def added(case: "CaseResult", trained: "CaseResult") -> "CaseResult":
        error = None if trained.error is None else Verdict(Status.NOT_RUN, trained.error)
        return replace(case, training=error or trained.training, losses=trained.losses)

    trainer = "scanify.verify.training.side_by_side:trained_case"
    return _joined(result, verify(policies=(None,), comparer=trainer, measure=False), added)


def _joined(
    result: "Verification", more: "Verification", added: "Callable[[CaseResult, CaseResult], CaseResult]"
) -> "Verification":
    """Merge in the results of another run; a case that could not be compared stays unchanged."""
    found = {case.name: case for case in more.cases}
    done = (found.get(case.name) if case.error is None else None for case in result.cases)
    pairs = zip(result.cases, done, strict=True)
    return replace(result, cases=tuple(case if other is None else added(case, other) for case, other in pairs))
