"""Are the outputs the same under `jax.vmap` over the arguments of the call? Once for all policies.

A rule of `jax.custom_batching.custom_vmap` takes part only there.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
from jax.extend.core import ClosedJaxpr

from scanify.verify.judge import Once, Subject, judge
from scanify.verify.numeric import Comparison, Outcome, compare_batched
from scanify.verify.trace import Version, under
from scanify.verify.verdict import Status, Verdict
from scanify.verify.vmap import SIZE, batch


def batched(subject: Subject, untested: str) -> Once:
    """The verdict on the outputs where every array among the arguments of the call has a batch axis.

    Random keys have it, too, unless the original does not support that. `untested` says why the outputs should not be
    tested where there is no proof, "" where they should.
    """
    avals = subject.both.avals
    keys = [i for i in subject.both.inputs if jax.dtypes.issubdtype(avals[i].dtype, jax.dtypes.prng_key)]
    others = [i for i in subject.both.inputs if i not in keys]
    if not others:
        return Once(None, "not compared under vmap: the call has no array to batch")
    choices = [subject.both.inputs, others] if keys else [others]
    for inputs in choices:
        try:
            with subject.steps.step("trace"):
                before = _traced(subject.both.before, avals, inputs)
            break
        except Exception as error:  # user code may raise anything
            said = subject.said(error)
    else:
        return Once(None, f"not compared under vmap, as the original raises {said}")
    try:
        with subject.steps.step("trace"):
            after = _traced(subject.both.after, avals, inputs)
    except Exception as error:
        text = f"the rewritten version cannot be traced under vmap: {subject.said(error)}"
        return Once(Verdict(Status.FAILED, text))
    test = functools.partial(_test, inputs=tuple(inputs))
    return Once(judge(subject, before, after, test, untested=untested))


def _test(case: Comparison, inputs: tuple[int, ...]) -> Outcome:
    return compare_batched(case, inputs)


def _traced(program: Version, avals: Sequence[jax.ShapeDtypeStruct], inputs: Sequence[int]) -> ClosedJaxpr:
    axes = [0 if i in set(inputs) else None for i in range(len(avals))]
    given = [
        aval if axis is None else jax.ShapeDtypeStruct((SIZE, *aval.shape), aval.dtype, weak_type=aval.weak_type)
        for aval, axis in zip(avals, axes, strict=True)
    ]
    with under(None, program):
        return jax.make_jaxpr(lambda leaves: batch(program, leaves, axes))(given)
