"""Inline the calls of `jax.jit` in a program, since one call may compute values for many layers."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
from jax.extend.core import Literal

_CALLS = frozenset(("jit", "pjit", "closed_call"))


def without_calls(closed: Any) -> Any:
    """Inline all calls except those with shardings."""
    if not any(map(_is_call, closed.jaxpr.eqns)):
        return closed
    structs = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False)) for a in closed.in_avals
    ]
    return jax.make_jaxpr(partial(_run, closed.jaxpr, closed.consts))(*structs)


def _run(jaxpr: Any, consts: Sequence[Any], *args: Any) -> list[Any]:
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(var: Any) -> Any:
        return var.val if isinstance(var, Literal) else env[var]

    for equation in jaxpr.eqns:
        if _is_call(equation):
            inner = equation.params["jaxpr"]
            found = _run(inner.jaxpr, inner.consts, *map(read, equation.invars))
            env |= dict(zip(equation.outvars, found, strict=True))
            continue
        reads = list(dict.fromkeys(var for var in equation.invars if not isinstance(var, Literal)))
        gives = [var for var in equation.outvars if type(var).__name__ != "DropVar"]
        one = part_of(jaxpr, reads, gives, [equation])
        env |= dict(zip(gives, jax.core.eval_jaxpr(one, (), *(env[var] for var in reads)), strict=True))
    return list(map(read, jaxpr.outvars))


def part_of(jaxpr: Any, reads: Sequence[Any], gives: Sequence[Any], equations: Sequence[Any]) -> Any:
    """Return some equations of a jaxpr as a separate jaxpr with the given inputs and outputs."""
    effects = frozenset().union(*(equation.effects for equation in equations))
    info = jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    return jaxpr.replace(
        constvars=[], invars=list(reads), outvars=list(gives), eqns=list(equations), effects=effects, debug_info=info
    )


def _is_call(equation: Any) -> bool:
    if equation.primitive.name not in _CALLS:
        return False
    placed = [*equation.params.get("in_shardings", ()), *equation.params.get("out_shardings", ())]
    return all(type(one).__name__ == "UnspecifiedValue" for one in placed)
