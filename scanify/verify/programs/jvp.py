"""Forward derivatives of a version, and derivatives of a program that is already traced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from scanify.verify.programs.flat import flat_outputs
from scanify.verify.programs.trace import Version, differentiated, gradients
from scanify.verify.values.arrays import is_inexact


def jvp(program: Version, leaves: Sequence[Any], tangents: Sequence[Any], at: Sequence[int] | None = None) -> list[Any]:
    """Return the tangents of the inexact outputs, from tangents of the original's leaves `at`, and the outputs.

    Without `at`, from tangents of all inexact leaves.
    """
    at = differentiated(leaves) if at is None else at

    def inner(*moved: Any) -> tuple[list[Any], list[Any]]:
        arrays = flat_outputs(program.call(program.own(_with(leaves, at, moved))))[0]
        return [y for y in arrays if is_inexact(y)], arrays

    _, out, arrays = jax.jvp(inner, tuple(leaves[i] for i in at), tuple(tangents), has_aux=True)
    return [*out, *arrays]


def second(program: Version, leaves: Sequence[Any], cotangents: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """Return Hessian-vector products: derivatives of the gradients along the inexact leaves and the cotangents.

    The cotangents have tangents, too, since jax omits the tangent of constants: a loop then lacks terms that a scan,
    which carries zeros, has as zero times a first derivative. So no compared program has such zeros.
    """
    at = differentiated(leaves)

    def inner(moved: Sequence[Any], pulled: Sequence[Any]) -> list[Any]:
        return gradients(program, _with(leaves, at, moved), pulled)[: len(at)]

    given = [leaves[i] for i in at], list(cotangents)
    return list(jax.jvp(inner, given, (list(tangents[: len(at)]), list(tangents[len(at) :])))[1])


def derivatives(program: ClosedJaxpr) -> Iterator[ClosedJaxpr]:
    """Yield the tangents and the gradients of all inexact inputs of a program, each if it exists."""
    given = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in program.in_avals]
    at, call = differentiated(given), jaxpr_as_fun(program)
    inputs = [given[i] for i in at]
    pulled = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in program.out_avals if is_inexact(each)]

    def of(leaves: Sequence[Any]) -> tuple[Any, list[Any]]:
        inner = lambda *moved: [y for y in call(*_with(leaves, at, moved)) if is_inexact(y)]  # noqa: E731
        return inner, [leaves[i] for i in at]

    def pushed(leaves: Sequence[Any], moves: Sequence[Any]) -> Any:
        inner, moved = of(leaves)
        return jax.jvp(inner, moved, list(moves))

    def back(leaves: Sequence[Any], cotangents: Sequence[Any]) -> Any:
        inner, moved = of(leaves)
        return jax.vjp(inner, *moved)[1](list(cotangents))

    for derivative, beside in ((pushed, inputs), (back, pulled)):
        try:
            yield jax.make_jaxpr(derivative)(given, beside)
        except Exception:  # it has no such derivative, and user rules may raise anything
            continue


def _with(leaves: Sequence[Any], at: Sequence[int], moved: Sequence[Any]) -> list[Any]:
    full = list(leaves)
    for i, value in zip(at, moved, strict=True):
        full[i] = value
    return full
