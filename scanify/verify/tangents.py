"""Are the forward derivatives (jvp) the same? Once for all policies, as remat does not matter to them.

A rule of `jax.custom_vjp` has no forward derivative, so a rewrite can lose it while outputs and gradients are the same.
"""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.calls import children, opened
from scanify.verify.judge import Once, Subject, judge
from scanify.verify.jvp import jvp
from scanify.verify.numeric import compare_tangents
from scanify.verify.trace import Version, differentiated, under
from scanify.verify.verdict import Status, Verdict

# Stands in a traced jvp for the tangents of a custom_vjp function; jax raises only when it is run.
REVERSE_ONLY = "custom_lin"


def tangents(subject: Subject, untested: str) -> Once:
    """The verdict on the tangents of all outputs that have one, with respect to all inexact leaves.

    `untested` says why they should not be tested where there is no proof, "" where they should.
    """
    avals = subject.both.avals
    at = differentiated(avals)
    if not at or not subject.comparison.inexact:
        return Once(None, "no forward derivatives (jvp): no output and parameter have one")
    try:
        with subject.steps.step("trace"):
            before = _traced(subject.both.before, avals)
    except Exception as error:  # user code may raise anything
        return Once(None, f"no forward derivatives (jvp), as the original raises {subject.said(error)}")
    try:
        with subject.steps.step("trace"):
            after = _traced(subject.both.after, avals)
    except Exception as error:
        said = f"the rewritten version has no forward derivative (jvp): {subject.said(error)}"
        return Once(Verdict(Status.FAILED, said))
    names = [f"tangent of {subject.both.found.names[i]}" for i in at]
    test = compare_tangents
    return Once(judge(subject, before, after, test, more=names, tangents=len(names), untested=untested))


def _traced(program: Version, avals: Any) -> ClosedJaxpr:
    moves = [jax.ShapeDtypeStruct(avals[i].shape, avals[i].dtype) for i in differentiated(avals)]
    with under(None, program):
        traced = jax.make_jaxpr(lambda leaves, tangents: jvp(program, leaves, tangents))(list(avals), moves)
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
