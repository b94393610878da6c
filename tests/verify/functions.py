"""Compares two plain functions of a parameter and arguments, as the calls of two models."""

from collections.abc import Callable
from typing import Any

import equinox as eqx

from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult, Status

Function = Callable[..., Any]


class Model(eqx.Module):
    p: Any
    function: Function = eqx.field(static=True)

    def __call__(self, *args: Any) -> Any:
        return self.function(self.p, *args)


def compared(before: Function, after: Function, p: Any, *args: Any, abstract: bool = False) -> CaseResult:
    return compare_case(
        "case",
        lambda: (Model(p, before), args),
        lambda: (Model(p, after), args),
        policies=(None,),
        requested=None,
        abstract=abstract,
        measure=False,
    )


def verdicts(result: CaseResult) -> dict[str, Status]:
    """The status of each check that was made, by its name."""
    (policy,) = result.policies
    found = {
        "parameters": result.parameters,
        "outputs": policy.outputs,
        "gradients": policy.gradients,
        "tangents": result.tangents,
        "batched": result.batched,
    }
    return {name: verdict.status for name, verdict in found.items() if verdict is not None}


def proved(result: CaseResult) -> bool:
    return set(verdicts(result).values()) == {Status.PROVED}
