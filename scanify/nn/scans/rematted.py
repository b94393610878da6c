"""Apply a remat policy to a program that is already traced, which `jax.checkpoint` would trace once more."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax

from scanify.nn.scans.checkpoint import ScanCheckpointPolicy


def rematted(
    jaxpr: Any, consts: Sequence[Any], arrays: Sequence[Any], policy: ScanCheckpointPolicy, *, straight: bool
) -> list[Any] | None:
    """Evaluate the open jaxpr, in the equation that `policy.checkpoint` would trace it to.

    None if it has to be traced: for policies that do more than jax's own, for programs with effects, and for arrays of
    another type than it was traced for.
    """
    remat = _remat(policy, policy.prevent_cse or straight) if policy.is_jax_policy else None
    given = [*consts, *arrays]
    variables = [*jaxpr.constvars, *jaxpr.invars]
    if remat is None or jaxpr.effects or getattr(jaxpr, "is_high", False) or not _fits(variables, given):
        return None
    primitive, params = remat
    whole = jaxpr.replace(constvars=(), invars=variables) if jaxpr.constvars else jaxpr
    found: list[Any] = primitive.bind(*given, **params, jaxpr=whole)
    return found


def _fits(variables: Sequence[Any], given: Sequence[Any]) -> bool:
    """True if the arrays have exactly the types of the variables: shape, dtype, weak type, and mesh properties."""
    return len(variables) == len(given) and all(
        isinstance(variable.aval, jax.core.ShapedArray) and jax.typeof(array) == variable.aval
        for variable, array in zip(variables, given, strict=True)
    )


# The parameters of `jax.checkpoint` besides the jaxpr, in jax 0.10 and 0.12.
_PARAMS = {"prevent_cse", "differentiated", "policy"}


@lru_cache(maxsize=128)
def _remat(policy: ScanCheckpointPolicy, prevent_cse: bool) -> tuple[Any, dict[str, Any]] | None:
    """Return the primitive of `jax.checkpoint` and its parameters, from a small program; None if they are unknown."""
    small = jax.checkpoint(jax.lax.neg, policy=policy.jax_policy, prevent_cse=prevent_cse)
    equations = jax.make_jaxpr(small)(1.0).eqns
    params = dict(equations[0].params)
    if len(equations) != 1 or params.pop("jaxpr", None) is None or params.keys() != _PARAMS:
        return None
    return equations[0].primitive, params
