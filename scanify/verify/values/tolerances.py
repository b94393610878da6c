"""How far rounding may take two versions apart, by the dtypes that they compute in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxprs_in_params

EXACT = 1e-12  # of the size of an array, in float64
NATIVE_EPS = 128  # times the machine epsilon, where there is no float64 truth
COARSE = 0.02  # no tolerance is larger, however coarse the dtype
_DOUBLE = 1e-15
LOOSEST, LOOSEST_COARSE = 1e-4, 0.25  # tolerances beyond which a comparison says nothing any more
ROUNDED = 64.0  # how small the rounding of the leaves is against the tolerance


def dtypes_of(closed: ClosedJaxpr, *, held: bool = False) -> Iterator[Any]:
    todo: list[Any] = [closed.jaxpr]
    while todo:
        jaxpr = todo.pop()
        yield from (var.aval.dtype for var in jaxpr.constvars if held and hasattr(var.aval, "dtype"))
        for eqn in jaxpr.eqns:
            yield from (var.aval.dtype for var in eqn.outvars if hasattr(var.aval, "dtype"))
            todo.extend(jaxprs_in_params(eqn.params))


def tolerance(eps: float) -> float:
    """What rounding to this machine epsilon may do, in the size of an array; never more than `COARSE`."""
    return min(NATIVE_EPS * eps, COARSE)


def coarsest(dtypes: Iterable[Any]) -> float:
    """The largest machine epsilon of the inexact dtypes among these; 0.0 without any."""
    inexact = {dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.inexact)}
    return max((float(jnp.finfo(dtype).eps) for dtype in inexact), default=0.0)


def limit_of(dtypes: Iterable[Any]) -> float:
    """The tolerance for what is computed in these dtypes: 1e-12 in float64, else that of the coarsest of them."""
    eps = coarsest(dtypes)
    return max(EXACT, tolerance(eps)) if eps > _DOUBLE else EXACT


def loosest(limit: float) -> float:
    """The tolerance beyond which a comparison says nothing any more, where `limit` is that of the dtypes."""
    return LOOSEST_COARSE if limit >= COARSE else max(LOOSEST, limit)


def narrower(before: Set[Any], after: Set[Any], own: Set[Any]) -> str:
    """Why float64 does not serve, if one version alone has a narrower dtype there, in words; otherwise "".

    A rate is float64 there if it is a Python number, and float32 in such an array: random bits differ, too. `own` are
    the dtypes that the original computes in without float64.
    """
    if before == after or not after - before <= own:
        return ""  # in their own dtypes, too, the versions compute in others
    return f"one version computes in {', '.join(sorted(map(str, before ^ after)))} whatever it is given"


def rounding_size(limit: float, *, coarse: bool = True) -> float:
    """Return a relative change of the leaves that is small against `limit`, or one rounding if a `coarse` dtype sets
    the limit."""
    return max(limit / ROUNDED, float(jnp.finfo(jnp.bfloat16).eps) if coarse and limit >= COARSE else 0.0)
