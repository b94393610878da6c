"""Compare the forward derivatives (jvp), once for all policies, since remat does not affect them.

A rule of `jax.custom_vjp` has no forward derivative, so a rewrite can lose it while outputs and gradients are the same.
"""

from __future__ import annotations

import functools
from typing import Any

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.calls import children, opened
from scanify.verify.compare.directions import Direction, directions, parts
from scanify.verify.compare.judge import Once, Subject, judge
from scanify.verify.compare.weakest import along, first_unless_failed
from scanify.verify.programs.programs import Job
from scanify.verify.programs.trace import differentiated
from scanify.verify.values.derivatives import compare_tangents
from scanify.verify.verdict import Status, Verdict

# A placeholder in a traced jvp for the tangents of a custom_vjp function; jax raises only when it is run.
REVERSE_ONLY = "custom_lin"


def tangents(subject: Subject, untested: str, ruled: ClosedJaxpr | None = None) -> Once:
    """Return the verdict on the tangents of all outputs that have one, with respect to all inexact leaves.

    With `ruled`, the call of the rewritten version if one of them has a custom derivative, also along all cases that
    such a rule distinguishes. `untested` is the reason not to test them without a proof, "" to test them.
    """
    avals = subject.both.avals
    at = differentiated(avals)
    if not at or not subject.comparison.inexact:
        return Once(None, "no forward derivatives (jvp): no output and parameter have one")
    found: list[tuple[str, Verdict]] = []
    more = (
        [] if ruled is None else [*parts(subject), *(each for each in directions(subject, ruled)[0] if not each.used)]
    )
    for direction in [Direction(at, None, ""), *more]:
        words, only = direction.words, direction.leaves
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
    # A scan has zero tangents for constant values, and a loop has none: along parts there may be no proof.
    verdict, note = first_unless_failed(found)
    if not note:
        return Once(along("along all leaves", found))
    plain = verdict.status is Status.PROVED and not verdict.reason
    return Once(Verdict(Status.PROVED, "along all leaves") if plain else verdict, note)


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
