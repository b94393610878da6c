"""Run an equation on operands whose types differ from those it was traced with."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Var

from scanify.nn.programs.literals import replay, with_type
from scanify.nn.programs.skeleton import Skeleton
from scanify.nn.trees.leaves import varying
from scanify.rolling.find.program import Number, Operation, is_plain_slice


def bind(operation: Operation, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an operation on other operands; a `Number` among them stays a constant of the program."""
    equation = operation.equation
    if operation.inside is not None:
        given, numbers = operands[: len(equation.invars)], operands[len(equation.invars) :]
        return _rematted(operation, operation.inside, given, numbers)
    if is_plain_slice(equation):
        starts, operands = operands[1:], operands[:1]
        if not all(isinstance(start, Number) for start in starts):
            return [_slice_from(equation.params, operands[0], starts)]
        indices = [int(start.value) for start in starts]
        sizes = equation.outvars[0].aval.shape
        return [jax.lax.slice(operands[0], indices, [a + b for a, b in zip(indices, sizes, strict=True)])]
    return _bound(equation, operands)


def _bound(equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    variables, arrays, invars = [], [], []
    for atom, operand in zip(equation.invars, operands, strict=True):
        if isinstance(operand, Number) and hasattr(atom, "val"):
            invars.append(atom)
            continue
        variables.append(Var(atom.aval))
        arrays.append(array_of(operand))
        invars.append(variables[-1])
    alone = _alone(equation.replace(invars=invars), variables)
    results: Sequence[Any] = jax.core.eval_jaxpr(alone, (), *arrays)
    return results


def _rematted(operation: Operation, inside: Skeleton, given: Sequence[Any], numbers: Sequence[Any]) -> Sequence[Any]:
    """Run a `checkpoint` in which some constants may be replaced by operands."""
    equation = operation.equation
    changed = {
        constant.place: with_type(number, constant)
        for constant, number in zip(inside.constants, numbers, strict=True)
        if not isinstance(number, Number)
    }
    if not changed:
        return _bound(equation, given)
    params = equation.params

    def function(arrays: Sequence[Any], changed: Any) -> list[Any]:
        return replay(params["jaxpr"], (), arrays, changed)

    rematted = jax.checkpoint(function, policy=params["policy"], prevent_cse=params["prevent_cse"])
    with equation.ctx.manager:
        results: Sequence[Any] = rematted([array_of(each) for each in given], changed)
    return results


def _alone(equation: Any, variables: Sequence[Any]) -> Any:
    """Return a jaxpr with one equation. `eval_jaxpr` keeps its scope names and source location."""
    return _EMPTY.replace(
        constvars=[], invars=list(variables), outvars=list(equation.outvars), eqns=[equation], effects=equation.effects
    )


_EMPTY = jax.make_jaxpr(lambda: ())().jaxpr


def _slice_from(params: Any, operand: Any, starts: Sequence[Any]) -> Any:
    """A slice of the same size from dynamic starts. `dynamic_slice` does not clamp starts within range."""
    indices = [np.int32(start.value) if isinstance(start, Number) else start for start in starts]
    sizes = [limit - start for start, limit in zip(params["start_indices"], params["limit_indices"], strict=True)]
    return jax.lax.dynamic_slice(operand, indices, sizes)


def array_of(value: Any) -> Any:
    """Convert a constant of the program to the array it was traced to."""
    if not isinstance(value, Number):
        return value
    if not isinstance(value.aval.dtype, np.dtype):
        return value.value
    return jnp.asarray(value.value, value.aval.dtype)


def spread(array: Any, aval: Any) -> Any:
    """Convert an array to an aval: broadcast a scalar with its sharding, and make it vary over the same mesh axes."""
    if array.shape != aval.shape:
        array = jax.lax.broadcast(array, aval.shape, out_sharding=_placed(aval))
    over = tuple(sorted(varying(aval) - varying(array)))
    return jax.lax.pcast(array, over, to="varying") if over else array


def zeros(aval: Any) -> Any:
    """Zeros of an aval."""
    return spread(jnp.zeros((), aval.dtype), aval)


def _placed(aval: Any) -> Any:
    """The sharding of an aval if the mesh is explicit."""
    sharding = getattr(aval, "sharding", None)
    return None if sharding is None or sharding.mesh.empty else sharding


def strong(array: Any) -> Any:
    """The array without a weak type."""
    return jax.lax.convert_element_type(array, array.dtype) if getattr(array, "weak_type", False) else array
