"""Find the operation of a layer that changes the dtype of its carry, by mixing it with an array of another dtype."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from scanify.jaxpr.reading.calls import callee
from scanify.nn.checks.source_line import source_line
from scanify.nn.trees.difference import Difference
from scanify.nn.trees.leaves import is_array


def promotion(difference: Difference, carried: Callable[[Any, Any], Sequence[Any]], carry: Any, x: Any) -> str:
    """Describe it, or return "" without a change of dtype or an operation. `carried(carry, x)` returns the arrays."""
    before, after = difference.one, difference.other
    if not (is_array(before) and is_array(after)) or before.dtype == after.dtype:
        return ""
    try:
        jaxpr = jax.make_jaxpr(carried)(carry, x).jaxpr
    except Exception:  # the message is useful without it
        return ""
    from_carry = jaxpr.invars[: len(jax.tree.leaves(carry))]
    for equation, user in _changing(jaxpr, from_carry, before.dtype, after.dtype):
        known = source_line(user) or source_line(equation)
        where = "" if known is None else f" at {Path(known[0]).name}:{known[1]}"
        others = [var.aval for var in user.invars if hasattr(var.aval, "dtype") and var.aval.dtype == after.dtype]
        shown = f" with {after.dtype}{list(others[-1].shape)}" if user is not equation and others else ""
        return f" The first operation that makes it {after.dtype} is {user.primitive.name}{shown}{where}."
    return ""


def _changing(jaxpr: Any, given: Sequence[Any], old: Any, new: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the equations that change the dtype of values depending on `given`, and the first users of the results."""
    depends = set(given)
    for at, equation in enumerate(jaxpr.eqns):
        mine = [var for var in equation.invars if not hasattr(var, "val") and var in depends]
        if not mine:
            continue
        depends.update(equation.outvars)
        inner = callee(equation)
        if inner is not None:
            pairs = zip(equation.invars, inner[0].invars, strict=True)
            yield from _changing(
                inner[0], [own for var, own in pairs if not hasattr(var, "val") and var in mine], old, new
            )
        elif any(var.aval.dtype == old for var in mine if hasattr(var.aval, "dtype")) and any(
            _has(var.aval, new) for var in equation.outvars
        ):
            later = (one for one in jaxpr.eqns[at + 1 :] if equation.outvars[0] in _variables(one))
            converts = equation.primitive.name == "convert_element_type"
            yield equation, next(later, equation) if converts else equation


def _variables(equation: Any) -> list[Any]:
    return [var for var in equation.invars if not hasattr(var, "val")]


def _has(aval: Any, dtype: Any) -> bool:
    return hasattr(aval, "dtype") and jnp.dtype(aval.dtype) == dtype
