"""Are the outputs the same under `jax.vmap` over the arguments of the call? Once for all policies.

A rule of `jax.custom_batching.custom_vmap` takes part only there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import jax

from scanify.verify.compare.judge import Once, Subject, judge
from scanify.verify.compare.weakest import weakest
from scanify.verify.programs.programs import Job
from scanify.verify.programs.vmap import SIZE
from scanify.verify.values.numeric import compare_batched
from scanify.verify.verdict import Status, Verdict


def batched(subject: Subject, untested: str, rules: bool = False) -> Once:
    """The verdict on the outputs where every array among the arguments of the call has a batch axis.

    With `rules`, as where somebody wrote what a function is under vmap, also where one of them alone has it, or the
    parameters alone, and for another size of the axis. Random keys have it, too, unless the original does not support
    that. `untested` says why the outputs should not be tested where there is no proof, "" where they should.
    """
    avals = subject.both.avals
    keys = [i for i in subject.both.inputs if jax.dtypes.issubdtype(avals[i].dtype, jax.dtypes.prng_key)]
    others = [i for i in subject.both.inputs if i not in keys]
    if not others:
        return Once(None, "not compared under vmap: the call has no array to batch")
    said = ""
    for inputs in [subject.both.inputs, others] if keys else [others]:
        found = _judged(subject, tuple(inputs), SIZE, untested)
        if not isinstance(found, str):
            break
        said = found
    else:
        return Once(None, f"not compared under vmap, as the original raises {said}")
    verdicts = [("", found)]
    for words, only, size in _more(subject, tuple(inputs)) if rules else ():
        one = _judged(subject, only, size, untested)
        if not isinstance(one, str):
            verdicts.append((f"{words}: ", one))
    return Once(weakest(verdicts))


def _more(subject: Subject, inputs: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...], int]]:
    names = subject.both.found.names
    yield f"in batches of {SIZE + 1}", inputs, SIZE + 1
    for i in inputs if len(inputs) > 1 else ():
        yield f"over {names[i]} alone", (i,), SIZE
    held = tuple(i for i in range(len(names)) if i not in set(subject.both.inputs))
    if held:
        yield "over the parameters alone", held, SIZE
        yield "over parameters and inputs", (*held, *inputs), SIZE


def _judged(subject: Subject, inputs: tuple[int, ...], size: int, untested: str) -> Verdict | str:
    """The verdict, or what the original raises."""
    job = Job("vmap", leaves=inputs, size=size)
    try:
        before = subject.original_program(job)
    except Exception as error:  # user code may raise anything
        return subject.said(error)
    try:
        after = subject.rewritten_program(job)
    except Exception as error:
        text = f"the rewritten version cannot be traced under vmap: {subject.said(error)}"
        return Verdict(Status.FAILED, text)
    test = functools.partial(compare_batched, inputs=inputs, size=size)
    names = ", ".join(subject.both.found.names[i] for i in inputs)
    what = f"outputs under vmap over {names if len(names) < 80 else f'{len(inputs)} arrays'}, {size} at a time"
    return judge(subject, before, after, test, untested=untested, what=what)
