"""How far rounding may take two versions apart, by the dtypes that they compute in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxprs_in_params

NATIVE_EPS = 128  # times the machine epsilon, where there is no float64 truth
COARSE = 0.02  # no tolerance is larger, however coarse the dtype
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


def rounding_size(limit: float, *, coarse: bool = True) -> float:
    """Return a relative change of the leaves that is small against `limit`, or one rounding if a `coarse` dtype sets
    the limit."""
    return max(limit / ROUNDED, float(jnp.finfo(jnp.bfloat16).eps) if coarse and limit >= COARSE else 0.0)
