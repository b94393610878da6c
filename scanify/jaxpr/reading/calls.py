"""Primitives that compute a jaxpr in their parameters, and primitives that return their operands.

Both are removed: compiling separately, rematerialising, naming for a policy, and moving to other memory or devices do
not change values. The jaxpr of a call is found in the parameter that holds it.
"""

from typing import Any

from scanify.jaxpr.primitives import CALLS

# The parameter that holds the jaxpr of a call; its name differs between versions of jax.
CALLED = ("jaxpr", "call_jaxpr", "call", "callee")


def callee(equation: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the open jaxpr and its constants that a call computes, or None if the equation is not a known call."""
    if equation.primitive.name not in CALLS:
        return None
    called = [equation.params[name] for name in CALLED if name in equation.params]
    if len(called) != 1:
        return None
    jaxpr, consts = opened(called[0])
    if (
        len(jaxpr.constvars) != len(consts)
        or len(jaxpr.invars) != len(equation.invars)
        or len(jaxpr.outvars) != len(equation.outvars)
    ):
        return None
    return jaxpr, consts


def opened(jaxpr: Any) -> tuple[Any, tuple[Any, ...]]:
    """Split a jaxpr into an open jaxpr and its constants."""
    if hasattr(jaxpr, "consts"):
        inner = jaxpr.jaxpr if hasattr(jaxpr, "jaxpr") else jaxpr
        return inner, tuple(jaxpr.consts)
    return jaxpr, ()


def children(equation: Any) -> list[Any]:
    """Return the jaxprs in the parameters of an equation, including those in tuples (branches)."""
    found = []
    for value in equation.params.values():
        items = value if isinstance(value, tuple | list) else (value,)
        found += [item for item in items if hasattr(item, "eqns") or hasattr(getattr(item, "jaxpr", None), "eqns")]
    return found
