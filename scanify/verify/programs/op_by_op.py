"""Run functions once, operation by operation from their traced program.

Run directly, a function of a library compiles everything that it wraps in `jax.jit`, again for each layer if a version
must not find the programs of the other (`programs/apart`). A single operation is compiled once per shape, for all
layers, versions and cases of a process.
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
    """Return `function(*args)`. It is traced with the arrays among its arguments, and run directly if it needs their
    values, or is already being traced."""
    if not is_eager():
        return function(*args)
    leaves, treedef = jax.tree.flatten(args)
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array | np.ndarray)]
    others: list[Any] = []

    def traced(own: Sequence[Any]) -> list[Any]:
        given = iter(own)
        whole = [next(given) if isinstance(leaf, jax.Array | np.ndarray) else leaf for leaf in leaves]
        made, tree = jax.tree.flatten(function(*jax.tree.unflatten(treedef, whole)))
        computed = [isinstance(leaf, jax.Array) for leaf in made]  # tracers are instances; NumPy arrays are kept
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
    """Convert a value to a jax array; a constant of the program may be a NumPy array."""
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
