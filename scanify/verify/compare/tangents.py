"""Are the forward derivatives (jvp) the same? Once for all policies, as remat does not matter to them.

A rule of `jax.custom_vjp` has no forward derivative, so a rewrite can lose it while outputs and gradients are the same.
"""

from __future__ import annotations

import functools
from typing import Any

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.calls import children, opened
from scanify.verify.compare.gradients import parts
from scanify.verify.compare.judge import Once, Subject, judge
from scanify.verify.compare.weakest import first_unless_failed
from scanify.verify.programs.programs import Job
from scanify.verify.programs.trace import differentiated
from scanify.verify.values.derivatives import compare_tangents
from scanify.verify.verdict import Status, Verdict

# Stands in a traced jvp for the tangents of a custom_vjp function; jax raises only when it is run.
REVERSE_ONLY = "custom_lin"


def tangents(subject: Subject, untested: str, rules: bool = False) -> Once:
    """The verdict on the tangents of all outputs that have one, with respect to all inexact leaves.

    With `rules`, as where somebody wrote a derivative, to the parameters alone and to the inputs alone as well.
    `untested` says why they should not be tested where there is no proof, "" where they should.
    """
    avals = subject.both.avals
    at = differentiated(avals)
    if not at or not subject.comparison.inexact:
        return Once(None, "no forward derivatives (jvp): no output and parameter have one")
    found: list[tuple[str, Verdict]] = []
    for words, only in [("", at), *(parts(subject) if rules else ())]:
        try:
            before = _usable(subject.original_program(Job("jvp", leaves=only)))
        except Exception as error:  # user code may raise anything
            if not words:
                return Once(None, f"no forward derivatives (jvp), as the original raises {subject.said(error)}")
            continue
        try:
            after = _usable(subject.rewritten_program(Job("jvp", leaves=only)))
        except Exception as error:
            said = f"the rewritten version has no forward derivative (jvp): {subject.said(error)}"
            return Once(Verdict(Status.FAILED, said))
        names = [f"tangent of {subject.both.found.names[i]}" for i in only]
        test = functools.partial(compare_tangents, only=only)
        what = f"forward derivatives {words}".strip()
        verdict = judge(subject, before, after, test, more=names, tangents=len(names), untested=untested, what=what)
        found.append((f"{words}: " if words else "", verdict))
    return Once(*first_unless_failed(found))


def _usable(traced: ClosedJaxpr) -> ClosedJaxpr:
    if _holds(traced.jaxpr, REVERSE_ONLY):
        raise TypeError("a custom_vjp function has no forward-mode derivative")
    return traced


def _holds(jaxpr: Any, primitive: str) -> bool:
    waiting, seen = [jaxpr], set()
    while waiting:
        inner, _ = opened(waiting.pop())
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        if any(equation.primitive.name == primitive for equation in inner.eqns):
            return True
        waiting += [child for equation in inner.eqns for child in children(equation)]
    return False
