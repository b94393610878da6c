"""Primitives that compute what a jaxpr in their parameters computes, and primitives that give back their operands.

Both disappear: what is compiled apart, rematerialised, named for a policy, kept in another memory or placed on other
devices has the same value. A call is followed into its jaxpr under the name of the parameter that holds it.
"""

from typing import Any

from scanify.jaxpr.primitives import CALLS

# The parameter that holds the jaxpr of a call, by the names it has had.
CALLED = ("jaxpr", "call_jaxpr", "call", "callee")


def callee(equation: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The open jaxpr and its constants that a call computes, or None where the equation is no call known here."""
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
    """The jaxpr without its constants, and the constants."""
    if hasattr(jaxpr, "consts"):
        inner = jaxpr.jaxpr if hasattr(jaxpr, "jaxpr") else jaxpr
        return inner, tuple(jaxpr.consts)
    return jaxpr, ()


def children(equation: Any) -> list[Any]:
    """The jaxprs among the parameters of an equation, those in tuples (branches) included."""
    found = []
    for value in equation.params.values():
        items = value if isinstance(value, tuple | list) else (value,)
        found += [item for item in items if hasattr(item, "eqns") or hasattr(getattr(item, "jaxpr", None), "eqns")]
    return found
