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
    """One `jax.vmap`: which inputs have the batch axis, and its size."""

    leaves: tuple[int, ...]
    size: int = SIZE


@dataclass(frozen=True)
class Nest:
    """Maps within each other, the inner one first, of a call (`gradients` is ""), of its gradients (INSIDE), as of each
    example, or with gradients taken of the whole (OUTSIDE). The inputs are the leaves, then cotangents of the inexact
    outputs.
    """

    batches: tuple[Batch, ...]
    gradients: str = ""

    def function(self, program: Version, leaves: int) -> Function:
        """The function of a version with so many leaves: its outputs, or gradients and the outputs on the way."""

        def call(given: Sequence[Any]) -> list[Any]:
            return flat_outputs(program.call(program.own(given)))[0]

        def pulled(given: Sequence[Any]) -> list[Any]:
            return gradients(program, given[:leaves], given[leaves:])

        whole: Function = pulled if self.gradients == INSIDE else call
        for each in self.batches:
            whole = functools.partial(_mapped, whole, each)
        return functools.partial(_pulled, whole, leaves) if self.gradients == OUTSIDE else whole

    def cotangents(self, program: Version, avals: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
        """The cotangents that the function takes, without the axes of batches over them."""
        if not self.gradients:
            return []
        nest = Nest(self.batches if self.gradients == OUTSIDE else ())
        shapes = jax.eval_shape(nest.function(program, len(avals)), nest.batched(list(avals), _shape))
        return [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in shapes if is_inexact(each)]

    def inputs(self, program: Version, avals: Sequence[Any]) -> list[Any]:
        """All that the function takes, as shapes."""
        cotangents = self.cotangents(program, avals)
        if self.gradients == OUTSIDE:
            return [*self.batched(list(avals), _shape), *cotangents]
        return self.batched([*avals, *cotangents], _shape)

    def batched(self, given: Sequence[Any], several: Callable[[Any, int], Any]) -> list[Any]:
        """The inputs with the axes of all batches, which `several(x, size)` makes."""
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
