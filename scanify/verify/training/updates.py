"""Compare the parameters after one step of training, if the case gives an optimiser."""

from __future__ import annotations

import functools
from typing import Any

from scanify.errors import ScanifyError
from scanify.verify.compare.judge import Once, Subject, judge
from scanify.verify.programs.programs import Job
from scanify.verify.training.step import stepped, trained
from scanify.verify.values.checks import Check
from scanify.verify.values.numeric import Comparison, Outcome, compare
from scanify.verify.verdict import Status, Verdict

_INSTEAD = (
    "an optimiser that looks at whole arrays (their norm, rank or shape) sees those of all layers in a stack; "
    "scanify.optim.per_layer(optimizer) shows it each layer, and scanify.optim.weight_decay_mask is a mask by rank"
)


def updates(subject: Subject, untested: str) -> Once:
    """Return the verdict on the updated parameters, for all gradients; None if the case has no optimiser.

    Raises ScanifyError if the optimiser cannot update the original.
    """
    both = subject.both
    at = trained(both.avals, both.inputs)
    if both.before.optimizer is None:
        return Once(None)
    if not at:
        return Once(None, "no step of training: the model has no parameters")
    job = Job("step", leaves=at)
    try:
        before = subject.original_program(job)
    except Exception as error:
        raise ScanifyError(f"the case's optimizer cannot update the original model: {subject.said(error)}") from error
    try:
        after = subject.rewritten_program(job)
    except Exception as error:
        said = f"the optimizer cannot update the rewritten model: {subject.said(error)}"
        return Once(Verdict(Status.FAILED, said))
    names = [f"gradient of {both.found.names[i]}" for i in at]
    test = functools.partial(_compare, at=at)
    verdict = judge(subject, before, after, test, more=names, untested=untested, what="updated parameters")
    if verdict.status is Status.FAILED:
        verdict = Verdict(verdict.status, f"{verdict.reason}; {_INSTEAD}", verdict.difference)
    return Once(verdict)


def _compare(case: Comparison, at: tuple[int, ...]) -> Outcome:
    names = tuple(f"the updated {case.names[i]}" for i in at)
    make: Any = functools.partial(stepped, at)
    return compare(case, Check("one step", make, names, native=False, far=False))
