"""Whether the names that a remat policy speaks of are given to anything in the layers."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax

from scanify.jaxpr.calls import children
from scanify.nn.checkpoint import ScanCheckpointPolicy


def warn_of_names_not_set(policy: ScanCheckpointPolicy, step: Callable[..., Any], carry: Any, x: Any) -> None:
    """Warn of names in `save_block_internals` and `offload_block_internals` that no `checkpoint_name` gives: they would
    be kept by a policy that keeps nothing (AI-Hypercomputer/maxtext#4990: memory to the byte the same, and no message).

    One layer is traced once more for it. A function with a derivative of its own hides the names in that, so that
    nothing is said where there is one.
    """
    found = set(_names(jax.make_jaxpr(lambda carry, x: step(carry, x)[:2])(carry, x).jaxpr))
    missing = [name for name in policy.names if name not in found]
    if missing and None not in found:
        named = ", ".join(repr(name) for name in sorted(filter(None, found))) or "none"
        warnings.warn(
            f"the remat policy names {', '.join(map(repr, missing))}, which nothing in the layers is called, so it "
            f"keeps less than it says; names that are given: {named}. Name values with "
            "jax.ad_checkpoint.checkpoint_name or scanify.nn.tree_checkpoint_name",
            stacklevel=2,
        )


def _names(jaxpr: Any) -> Iterator[str | None]:
    """The names given in a jaxpr and in those inside of it; None where a custom derivative may hide some."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "name":
            yield equation.params["name"]
        elif equation.primitive.name.startswith(("custom_vjp", "custom_jvp")):
            yield None
        for child in children(equation):
            yield from _names(getattr(child, "jaxpr", child))
