"""Computations by which the values of the versions are compared: outputs, derivatives, outputs of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.jvp import jvp, second
from scanify.verify.programs.trace import Version, differentiated, gradients
from scanify.verify.programs.vmap import OUTSIDE, Nest
from scanify.verify.values.arrays import is_inexact, is_key
from scanify.verify.values.figures import Distance, distance
from scanify.verify.values.limited import Limited

_Arrays = Sequence[Any]


Function = Callable[[_Arrays], list[Any]]
Make = Callable[[Version, _Arrays, np.random.Generator], Function]


@dataclass(frozen=True, eq=False)
class Check:
    """A computation on both versions, and the names of the resulting arrays.

    `make` gives the function of a version, compiled for leaves like these. `native`: also in the model's own dtypes,
    where a rewrite can lose accuracy that float64 does not show. `far`: also at points far from the case's own values.
    `first`: the number of arrays, from the first one, that are measured against each other. `about`: the leaves that it
    covers, if not all.
    """

    title: str
    make: Make
    names: tuple[str, ...]
    native: bool = True
    far: bool = True
    first: int | None = None
    about: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Return a key that distinguishes it from other checks of the same case."""
        return self.title, self.about

    def apart(self, before: _Arrays, after: _Arrays) -> Distance:
        """Return the distance of two results; the `first` arrays have one scale and the others another."""
        parts = [slice(None, self.first), slice(self.first, None)] if self.first is not None else [slice(None)]
        found = [distance(self.names[part], before[part], after[part]) for part in parts]
        return max(found, key=lambda each: (not each.bitwise, each.relative))


def _called(program: Version, leaves: _Arrays) -> list[Any]:
    return flat_outputs(program.call(program.own(leaves)))[0]


def values(program: Version, leaves: _Arrays, rng: np.random.Generator) -> Function:
    """Compute the outputs of a call."""
    function = Limited(lambda xs: _called(program, xs))
    return lambda given: _listed(function(list(given)))


def vmapped(nest: Nest, program: Version, leaves: _Arrays, rng: np.random.Generator) -> Function:
    """Compute the result of a nest of maps."""
    function = Limited(nest.function(program, len(leaves)))
    cotangents = [noise(rng, each) for each in nest.cotangents(program, leaves)]

    def run(given: _Arrays) -> list[Any]:
        if nest.gradients == OUTSIDE:
            return _listed(function([*nest.batched(given, _several), *cotangents]))
        return _listed(function(nest.batched([*given, *cotangents], _several)))

    return run


def _several(x: Any, size: int) -> Any:
    found = [x]
    while len(found) < size:
        found.append(_another(found[-1]))
    return jnp.stack(found)


def _another(x: Any) -> Any:
    """Return other values of the same kind: integers stay valid indices, and keys stay keys of the same kind."""
    if is_inexact(x):
        return x * 1.25
    if is_key(x):
        return jax.random.wrap_key_data(jnp.flip(jax.random.key_data(x)), impl=jax.random.key_impl(x))
    return jnp.flip(x)


def vjp(
    only: Sequence[int] | None,
    used: Sequence[int] | None,
    count: int | None,
    program: Version,
    leaves: _Arrays,
    rng: np.random.Generator,
    factor: float = 1.0,
) -> Function:
    """Compute the gradients of the leaves `only`, or of all, and the outputs on the way; the first `count` of these.
    The cotangents of the outputs `used`, or of all, are normal, times `factor`."""
    cotangents = _cotangents(program, leaves, rng, used)
    if factor != 1.0:
        cotangents = [(each * factor).astype(each.dtype) for each in cotangents]
    function = Limited(lambda xs, cts: gradients(program, xs, cts, only, used)[:count])
    return lambda given: _listed(function(list(given), cotangents))


def jvp_of(only: Sequence[int] | None, program: Version, leaves: _Arrays, rng: np.random.Generator) -> Function:
    """Compute the tangents of the outputs along the leaves `only`, or all, and the outputs on the way."""
    tangents = [noise(rng, leaves[i]) for i in (differentiated(leaves) if only is None else only)]
    function = Limited(lambda xs, moves: jvp(program, xs, moves, only))
    return lambda given: _listed(function(list(given), tangents))


def second_of(program: Version, leaves: _Arrays, rng: np.random.Generator) -> Function:
    """Compute the derivative of the gradients along the leaves and the cotangents."""
    cotangents = _cotangents(program, leaves, rng)
    tangents = [noise(rng, each) for each in (*(leaves[i] for i in differentiated(leaves)), *cotangents)]
    function = Limited(lambda xs, cts, moves: second(program, xs, cts, moves))
    return lambda given: _listed(function(list(given), cotangents, tangents))


def _cotangents(
    program: Version, leaves: _Arrays, rng: np.random.Generator, used: Sequence[int] | None = None
) -> list[Any]:
    shapes = jax.eval_shape(lambda xs: _called(program, xs), list(leaves))
    return [noise(rng, s) for i, s in enumerate(shapes) if is_inexact(s) and (used is None or i in used)]


def _listed(values: Any) -> list[Any]:
    return [jax.block_until_ready(value) for value in values]


def noise(rng: np.random.Generator, like: Any) -> Any:
    return jnp.asarray(rng.standard_normal(like.shape).astype(like.dtype))
