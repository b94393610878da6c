"""Compares two plain functions of a parameter and arguments, as the calls of two models."""

from collections.abc import Callable
from typing import Any

import equinox as eqx

from scanify.verify.cases.build import build
from scanify.verify.compare.compare import compare_case
from scanify.verify.compare.judge import Subject
from scanify.verify.compare.outputs import outputs as compared_outputs
from scanify.verify.measure.steps import Steps
from scanify.verify.programs.pair import Pair, pair
from scanify.verify.programs.trace import trace
from scanify.verify.values.numeric import Comparison
from scanify.verify.verdict import CaseResult, Status, Verdict

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


def outputs(before: Function, after: Function, p: Any, *args: Any) -> Verdict:
    """The verdict on the outputs alone: nothing that is differentiated or batched is compiled."""
    both = pair(*(build(lambda each=each: (Model(p, each), args), abstract=False) for each in (before, after)))
    assert isinstance(both, Pair)
    original, traced = trace(both.before, both.avals), trace(both.after, both.avals)
    comparison = Comparison(
        both.before,
        both.after,
        both.leaves,
        both.found.names,
        original.outputs.names,
        original.outputs.inexact,
        policy=None,
        inputs=both.inputs,
    )
    subject = Subject(both, original, comparison, abstract=False, files=None, steps=Steps())
    return compared_outputs(subject, traced, None)


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
