"""Check that the names in a remat policy are set in the layers."""

import warnings
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from scanify.jaxpr.reading.calls import children
from scanify.nn.scans.checkpoint import ScanCheckpointPolicy


def warn_of_names_not_set(policy: ScanCheckpointPolicy, step: Callable[..., Any], carry: Any, x: Any) -> None:
    """Warn of names in `save_block_internals` and `offload_block_internals` that no `checkpoint_name` sets.

    A policy with such names keeps less than requested, which shows only in the memory: it equals another policy's to
    the byte (AI-Hypercomputer/maxtext#4990). One layer is traced once more for it; if functions have derivatives of
    their own, which may name values too, the derivative of the layer is traced as well.
    """
    found, hidden = _names(jax.make_jaxpr(lambda carry, x: step(carry, x)[:2])(carry, x).jaxpr)
    if hidden and not found.issuperset(policy.names):
        in_derivative = _names_of_derivative(step, carry, x)
        if in_derivative is None:
            return
        found |= in_derivative
    missing = [name for name in policy.names if name not in found]
    if missing:
        given = ", ".join(map(repr, sorted(found))) or "none"
        warnings.warn(
            f"the remat policy names {', '.join(map(repr, missing))}, which nothing in the layers is called, so it "
            f"keeps less than it says; names that are given: {given}. Name values with "
            "jax.ad_checkpoint.checkpoint_name or scanify.nn.tree_checkpoint_name",
            stacklevel=2,
        )


def _names(jaxpr: Any) -> tuple[set[str], bool]:
    """Return the names set in a jaxpr and its inner jaxprs, and whether functions have derivatives of their own."""
    found: set[str] = set()
    hidden = False
    for equation in jaxpr.eqns:
        if equation.primitive.name == "name":
            found.add(equation.params["name"])
        hidden |= equation.primitive.name.startswith(("custom_vjp", "custom_jvp"))
        for child in children(equation):
            more, below = _names(getattr(child, "jaxpr", child))
            found |= more
            hidden |= below
    return found, hidden


def _names_of_derivative(step: Callable[..., Any], carry: Any, x: Any) -> set[str] | None:
    """Return the names set when a layer is traced for its backward pass; None if it has none."""

    def forward(inexact: Any, rest: Any) -> Any:
        def outputs(inexact: Any) -> Any:
            return [out for out in jax.tree.leaves(step(*eqx.combine(inexact, rest))[:2]) if _is_inexact(out)]

        out, pull = jax.vjp(outputs, inexact)
        return out, jax.tree.leaves(pull)

    try:
        return _names(jax.make_jaxpr(forward)(*eqx.partition((carry, x), _is_inexact)).jaxpr)[0]
    except Exception:  # a layer without a derivative may still be run forward
        return None


def _is_inexact(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))
