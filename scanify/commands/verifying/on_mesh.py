"""`--mesh`: what both versions of the cases take on a mesh of devices, beside the verdicts."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scanify.verify.verdict import CaseResult, Verification


def with_mesh(result: "Verification", verify: "Callable[..., Verification]") -> "Verification":
    """The verification with what its cases take on a mesh, in a process of its own that has as many devices.

    `verify` runs the cases; it is told the comparer. A case that cannot be compiled for the mesh
    fails, as it was asked for.
    """
    done = verify(comparer="scanify.verify.mesh.partitioned:partitioned_case", measure=False)
    found = {case.name: case for case in done.cases}
    return replace(result, cases=tuple(_with(case, found.get(case.name)) for case in result.cases))


def _with(case: "CaseResult", meshed: "CaseResult | None") -> "CaseResult":
    if case.error is not None or meshed is None:
        return case
    if meshed.error is not None:
        return replace(case, findings=(*case.findings, f"on the mesh: {meshed.error}"))
    return replace(case, on_mesh=meshed.on_mesh)
