"""Compare derivatives of both versions, and results under `jax.vmap`, by their values."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from scanify.verify.programs.trace import differentiated
from scanify.verify.programs.vmap import Nest
from scanify.verify.values import checks
from scanify.verify.values.checks import Check
from scanify.verify.values.numeric import Comparison, Outcome, about_leaves, compare

LARGE = 1000.0


def compare_gradients(
    case: Comparison, only: Sequence[int] | None = None, used: Sequence[int] | None = None, *, values: bool = True
) -> Outcome:
    """Compare vjps with random cotangents of the outputs `used`, or of all; the gradients of the leaves `only`, or of
    all, and the outputs on the way.

    Without `values`, only the gradients. With them there is a custom rule, which need not be linear in its cotangents
    like jax's own (it may clip a gradient): then larger cotangents are tried, too.
    """
    at = differentiated(case.leaves) if only is None else only
    grads = tuple(f"the gradient of {case.names[i]}" for i in at)
    about = about_leaves(only) + ("" if used is None else f" for {about_leaves(used)}")
    make = functools.partial(checks.vjp, only, used, None if values else len(grads))
    names = (*grads, *(_on_the_way(case) if values else ()))
    found = compare(case, Check("vjp", make, names, first=len(grads), about=about))
    if not (values and found.agree and found.ran):
        return found
    make = functools.partial(checks.vjp, only, used, len(grads), factor=LARGE)
    title = f"vjp with cotangents {LARGE:.0f} times as large"
    larger = compare(case, Check(title, make, grads, native=False, far=False, about=about))
    return Outcome(larger.agree, f"{found.text}; {larger.text}") if larger.agree else larger


def compare_second(case: Comparison) -> Outcome:
    """Compare Hessian-vector products with random cotangents and tangents."""
    names = tuple(f"the second derivative of {case.names[i]}" for i in differentiated(case.leaves))
    return compare(case, Check("jvp of vjp", checks.second_of, names, native=False, far=False))


def compare_tangents(case: Comparison, only: Sequence[int] | None = None) -> Outcome:
    """Compare jvps with random tangents of the leaves `only`, or of all; the tangents and the outputs on the way."""
    moved = tuple(f"the tangent of {case.outputs[i]}" for i in case.inexact)
    make = functools.partial(checks.jvp_of, only)
    names = (*moved, *_on_the_way(case))
    check = Check("jvp", make, names, native=False, far=False, first=len(moved), about=about_leaves(only))
    return compare(case, check)


def compare_batched(case: Comparison, nest: Nest) -> Outcome:
    """Compare a nest of maps: values, or gradients and the values on the way."""
    grads = [f"the gradient of {case.names[i]}" for i in differentiated(case.leaves)] if nest.gradients else []
    names = (*grads, *(_on_the_way(case) if grads else case.outputs))
    make = functools.partial(checks.vmapped, nest)
    first = len(grads) if grads else None
    return compare(case, Check("vmap", make, names, native=False, far=False, first=first, about=repr(nest)))


def _on_the_way(case: Comparison) -> tuple[str, ...]:
    return tuple(f"{name} under differentiation" for name in case.outputs)
