"""Forward derivatives of a version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Version, differentiated, gradients
from scanify.verify.values.arrays import is_inexact


def jvp(program: Version, leaves: Sequence[Any], tangents: Sequence[Any], at: Sequence[int] | None = None) -> list[Any]:
    """The tangents of the inexact outputs, from those of the leaves `at` of the original, and the outputs on the way.

    Without `at`, from those of all inexact leaves.
    """
    at = differentiated(leaves) if at is None else at

    def inner(*moved: Any) -> tuple[list[Any], list[Any]]:
        arrays = flat_outputs(program.call(program.own(_with(leaves, at, moved))))[0]
        return [y for y in arrays if is_inexact(y)], arrays

    _, out, arrays = jax.jvp(inner, tuple(leaves[i] for i in at), tuple(tangents), has_aux=True)
    return [*out, *arrays]


def second(program: Version, leaves: Sequence[Any], cotangents: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Hessian-vector products: how the gradients move with the inexact leaves and with the cotangents.

    The cotangents move, too, since jax leaves out the tangent of what does not: a loop then lacks terms that a scan,
    which carries zeros, has as zero times a first derivative. So no program that is compared has such zeros.
    """
    at = differentiated(leaves)

    def inner(moved: Sequence[Any], pulled: Sequence[Any]) -> list[Any]:
        return gradients(program, _with(leaves, at, moved), pulled)[: len(at)]

    given = [leaves[i] for i in at], list(cotangents)
    return list(jax.jvp(inner, given, (list(tangents[: len(at)]), list(tangents[len(at) :])))[1])


def _with(leaves: Sequence[Any], at: Sequence[int], moved: Sequence[Any]) -> list[Any]:
    full = list(leaves)
    for i, value in zip(at, moved, strict=True):
        full[i] = value
    return full
