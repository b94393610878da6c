"""Tolerances for the effect of rounding on two versions, by the dtypes that they compute in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxprs_in_params

EXACT = 1e-12  # relative to the size of an array, in float64
NATIVE_EPS = 128  # times the machine epsilon, without a float64 result
COARSE = 0.02  # the maximal tolerance, however coarse the dtype
_DOUBLE = 1e-15
LOOSEST, LOOSEST_COARSE = 1e-4, 0.25  # tolerances beyond which a comparison is meaningless
ROUNDED = 64.0  # the ratio of the tolerance to the rounding of the leaves


def dtypes_of(closed: ClosedJaxpr, *, held: bool = False) -> Iterator[Any]:
    todo: list[Any] = [closed.jaxpr]
    while todo:
        jaxpr = todo.pop()
        yield from (var.aval.dtype for var in jaxpr.constvars if held and hasattr(var.aval, "dtype"))
        for eqn in jaxpr.eqns:
            yield from (var.aval.dtype for var in eqn.outvars if hasattr(var.aval, "dtype"))
            todo.extend(jaxprs_in_params(eqn.params))


def tolerance(eps: float) -> float:
    """Return the tolerance for rounding to this machine epsilon, relative to the size of an array; at most `COARSE`."""
    return min(NATIVE_EPS * eps, COARSE)


def coarsest(dtypes: Iterable[Any]) -> float:
    """Return the largest machine epsilon of the inexact dtypes among these; 0.0 without any."""
    inexact = {dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.inexact)}
    return max((float(jnp.finfo(dtype).eps) for dtype in inexact), default=0.0)


def limit_of(dtypes: Iterable[Any]) -> float:
    """Return the tolerance for computations in these dtypes: 1e-12 in float64, else for the coarsest of them."""
    eps = coarsest(dtypes)
    return max(EXACT, tolerance(eps)) if eps > _DOUBLE else EXACT


def loosest(limit: float) -> float:
    """Return the tolerance beyond which a comparison is meaningless, if `limit` is the tolerance of the dtypes."""
    return LOOSEST_COARSE if limit >= COARSE else max(LOOSEST, limit)


def narrower(before: Set[Any], after: Set[Any], own: Set[Any]) -> str:
    """Return why float64 cannot be used, if only one version has a narrower dtype there; otherwise "".

    A rate is float64 there if it is a Python number, and float32 in such an array: random bits differ, too. `own` are
    the dtypes that the original computes in without float64.
    """
    if before == after or not after - before <= own:
        return ""  # in their own dtypes, too, the versions differ in dtypes
    return f"one version computes in {', '.join(sorted(map(str, before ^ after)))} whatever it is given"


def rounding_size(limit: float, *, coarse: bool = True) -> float:
    """Return a relative change of the leaves that is small against `limit`, or one rounding if a `coarse` dtype sets
    the limit."""
    return max(limit / ROUNDED, float(jnp.finfo(jnp.bfloat16).eps) if coarse and limit >= COARSE else 0.0)
