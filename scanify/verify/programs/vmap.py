"""A version under `jax.vmap`, nested and together with gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Version, differentiated, gradients
from scanify.verify.values.arrays import is_inexact

SIZE = 2
INSIDE, OUTSIDE = "inside", "outside"

Function = Callable[[Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Batch:
    """One `jax.vmap`: the inputs that have the batch axis, and its size."""

    leaves: tuple[int, ...]
    size: int = SIZE


@dataclass(frozen=True)
class Nest:
    """Nested maps, inner ones first, of a call (`gradients` is ""), of its gradients (INSIDE), as for each example, or
    with gradients of the whole (OUTSIDE). The inputs are the leaves, then cotangents of the inexact outputs."""

    batches: tuple[Batch, ...]
    gradients: str = ""

    def function(self, program: Version, leaves: int) -> Function:
        """Return the function of a version with `leaves` leaves, to outputs, or to gradients and the outputs."""

        def call(given: Sequence[Any]) -> list[Any]:
            return flat_outputs(program.call(program.own(given)))[0]

        def pulled(given: Sequence[Any]) -> list[Any]:
            return gradients(program, given[:leaves], given[leaves:])

        whole: Function = pulled if self.gradients == INSIDE else call
        for each in self.batches:
            whole = functools.partial(_mapped, whole, each)
        return functools.partial(_pulled, whole, leaves) if self.gradients == OUTSIDE else whole

    def cotangents(self, program: Version, avals: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
        """Return the cotangents that the function takes, without the axes of batches over them."""
        if not self.gradients:
            return []
        nest = Nest(self.batches if self.gradients == OUTSIDE else ())
        shapes = jax.eval_shape(nest.function(program, len(avals)), nest.batched(list(avals), _shape))
        return [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in shapes if is_inexact(each)]

    def inputs(self, program: Version, avals: Sequence[Any]) -> list[Any]:
        """Return all inputs of the function, as shapes."""
        cotangents = self.cotangents(program, avals)
        if self.gradients == OUTSIDE:
            return [*self.batched(list(avals), _shape), *cotangents]
        return self.batched([*avals, *cotangents], _shape)

    def batched(self, given: Sequence[Any], several: Callable[[Any, int], Any]) -> list[Any]:
        """Add the axes of all batches to the inputs by `several(x, size)`."""
        found = list(given)
        for each in self.batches:
            found = [several(x, each.size) if i in set(each.leaves) else x for i, x in enumerate(found)]
        return found


def _shape(aval: Any, size: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((size, *aval.shape), aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _mapped(function: Function, batch: Batch, given: Sequence[Any]) -> list[Any]:
    axes = [0 if i in set(batch.leaves) else None for i in range(len(given))]
    return list(jax.vmap(function, in_axes=(axes,), axis_size=batch.size)(list(given)))


def _pulled(function: Function, leaves: int, given: Sequence[Any]) -> list[Any]:
    at = differentiated(given[:leaves])

    def inner(*moved: Any) -> tuple[list[Any], list[Any]]:
        full = list(given[:leaves])
        for i, value in zip(at, moved, strict=True):
            full[i] = value
        arrays = function(full)
        return [x for x in arrays if is_inexact(x)], arrays

    _, pull, arrays = jax.vjp(inner, *(given[i] for i in at), has_aux=True)
    return [*pull(list(given[leaves:])), *arrays]
