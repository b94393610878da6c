"""Run a traced layer again, with some of its numbers replaced by inputs.

A number that is an operand of a primitive can be an input as well: the primitive computes the same from both. A number
that is a parameter of a primitive (an axis, an exponent) cannot, and is never replaced. The start of a slice is the
exception: `lax.dynamic_slice` has it as an operand. (It clamps its starts; those of a slice are in range.)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Var

from scanify.jaxpr.reading.calls import opened
from scanify.nn.programs.skeleton import Constant, start_of
from scanify.nn.trees.weak import weakly_typed

Place = tuple[int, ...]


def replay(jaxpr: Any, consts: Sequence[Any], arrays: Sequence[Any], given: Mapping[Place, Any]) -> list[Any]:
    """Evaluate the jaxpr on `arrays`, with the scalars in `given` in place of its own."""
    if not given:
        outs = zip(jaxpr.outvars, jax.core.eval_jaxpr(jaxpr, consts, *arrays), strict=True)
        return [_array(out) if hasattr(out, "val") else got for out, got in outs]
    values: dict[Any, Any] = {}
    values.update(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, arrays, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else values[atom]

    inside: dict[int, dict[Place, Any]] = {}
    for place, value in given.items():
        inside.setdefault(place[0], {})[place[1:]] = value
    for index, equation in enumerate(jaxpr.eqns):
        changed = inside.get(index, {})
        operands = [changed.get((at,), None) if (at,) in changed else read(a) for at, a in enumerate(equation.invars)]
        deeper = {place: value for place, value in changed.items() if len(place) > 1}
        with equation.ctx.manager:
            if deeper:
                inner, inner_consts = opened(equation.params["jaxpr"])
                results: Any = replay(inner, inner_consts, operands, deeper)
            elif any(place[0] < 0 for place in changed):
                results = _slice_from(equation.params, operands[0], changed)
            else:
                results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
        results = results if equation.primitive.multiple_results else [results]
        values.update(zip(equation.outvars, results, strict=True))
    return [_array(out) if hasattr(out, "val") else values[out] for out in jaxpr.outvars]


def lifted(jaxpr: Any, places: Sequence[Place]) -> Any:
    """Return the jaxpr with additional inputs, after the others, for the scalars at `places`; None if one of them is
    inside a call, or is the start of a slice, which `replay` supports."""
    if any(len(place) != 2 or place[1] < 0 for place in places):
        return None
    if not places:
        return jaxpr
    equations, added = list(jaxpr.eqns), []
    for index, operand in places:
        atoms = list(equations[index].invars)
        atoms[operand] = Var(atoms[operand].aval)
        added.append(atoms[operand])
        equations[index] = equations[index].replace(invars=atoms)
    return jaxpr.replace(constvars=(), invars=[*jaxpr.constvars, *jaxpr.invars, *added], eqns=equations)


def _array(literal: Any) -> Any:
    """Return a literal result as the array that it was traced to."""
    return with_type(jnp.asarray(literal.val, literal.aval.dtype), literal.aval)


def _slice_from(params: Mapping[str, Any], operand: Any, given: Mapping[Place, Any]) -> Any:
    """Slice with the original size, from the given starts."""
    # All starts have the dtype of the given numbers, whatever jax converts a Python number to.
    dtype = next(iter(given.values())).dtype
    starts = [given.get((start_of(axis),), dtype.type(start)) for axis, start in enumerate(params["start_indices"])]
    sizes = [limit - start for start, limit in zip(params["start_indices"], params["limit_indices"], strict=True)]
    return jax.lax.dynamic_slice(operand, starts, sizes)


def stacked_constants(columns: Sequence[Sequence[Constant]]) -> dict[Place, np.ndarray[Any, Any]]:
    """Return the constants that differ between equal programs, one sequence per layer, stacked by place."""
    found: dict[Place, np.ndarray[Any, Any]] = {}
    for row in zip(*columns, strict=True):
        if any(one.bits != row[0].bits for one in row):
            found[row[0].place] = np.stack([one.value for one in row])
    return found


def with_type(value: Any, constant: Any) -> Any:
    """Return a scalar with the weak type of the constant (or aval) that it replaces."""
    array = jnp.asarray(value)
    if not constant.weak_type or getattr(array, "weak_type", False):
        return array
    return weakly_typed(array)
