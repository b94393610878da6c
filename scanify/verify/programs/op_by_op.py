"""Functions that run once, computed operation by operation from their traced program.

Run as it stands, a function of a library compiles whatever that has wrapped in `jax.jit`, in each of its layers again
where a version must not find the programs of the other (`programs/apart`). An operation by itself is compiled once for
each shape, for all layers, versions and cases of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Var

from scanify.nn.trees.is_eager import is_eager
from scanify.nn.trees.weak import weakly_typed

_OPENED = ("jit", "pjit", "closed_call")
_NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def op_by_op(function: Callable[..., Any], *args: Any) -> Any:
    """What `function(*args)` gives. It is traced with the arrays among its arguments, and run as it stands where it
    needs their values, or is traced already."""
    if not is_eager():
        return function(*args)
    leaves, treedef = jax.tree.flatten(args)
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array | np.ndarray)]
    others: list[Any] = []

    def traced(own: Sequence[Any]) -> list[Any]:
        given = iter(own)
        whole = [next(given) if isinstance(leaf, jax.Array | np.ndarray) else leaf for leaf in leaves]
        made, tree = jax.tree.flatten(function(*jax.tree.unflatten(treedef, whole)))
        computed = [isinstance(leaf, jax.Array) for leaf in made]  # tracers are instances; NumPy's own stay as they are
        others[:] = [tree, [None if each else leaf for leaf, each in zip(made, computed, strict=True)], computed]
        return [leaf for leaf, each in zip(made, computed, strict=True) if each]

    try:
        closed = jax.make_jaxpr(traced)(arrays)
    except _NEEDS_VALUES:
        return function(*args)
    if closed.effects:
        return function(*args)
    tree, plain, kinds = others
    results = map(_as_jax, closed.jaxpr.outvars, _computed(closed.jaxpr, closed.consts, arrays))
    return jax.tree.unflatten(tree, [next(results) if kind else leaf for kind, leaf in zip(kinds, plain, strict=True)])


def _as_jax(atom: Any, value: Any) -> jax.Array:
    """An array that the program may hold as a constant, which is then one of NumPy."""
    if isinstance(value, jax.Array):
        return value
    made = jnp.asarray(value, atom.aval.dtype)
    return weakly_typed(made) if atom.aval.weak_type else made


def _computed(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *inputs), strict=True))

    def value(atom: Any) -> Any:
        return atom.val if not isinstance(atom, Var) else known[atom]

    for eqn in jaxpr.eqns:
        operands = [value(atom) for atom in eqn.invars]
        if eqn.primitive.name in _OPENED:
            inner = eqn.params["jaxpr" if "jaxpr" in eqn.params else "call_jaxpr"]
            results = _computed(inner.jaxpr, inner.consts, operands)
        else:
            given = {atom: each for atom, each in zip(eqn.invars, operands, strict=True) if isinstance(atom, Var)}
            alone = jaxpr.replace(constvars=[], invars=[*given], outvars=eqn.outvars, eqns=[eqn], effects=eqn.effects)
            results = jax.core.eval_jaxpr(alone, (), *given.values())
        known |= dict(zip(eqn.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]
