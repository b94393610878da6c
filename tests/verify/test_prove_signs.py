"""Zeros that are left out of sums of derivatives, where the sign of a zero shows: nothing that differs so is proved."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.jaxpr.rules.signs import Signs
from scanify.verify.certificate.write import Proved
from scanify.verify.proof.prove import Proof, prove
from tests.certificate.programs import certificate_of
from tests.soundness.evaluate import of

X = jnp.ones(4)
Function = Callable[..., Any]


def ruled(forward: Function, backward: Function) -> Function:
    """A function with a rule for what its cotangents become."""
    f = jax.custom_vjp(forward)
    f.defvjp(lambda x: (forward(x), None), lambda kept, ct: (backward(ct),))
    return f


def double(x: Any) -> Any:
    return x * 2.0


def with_start(number: float) -> Function:
    return ruled(double, lambda ct: jnp.concatenate([jnp.full(2, number), ct[2:]]))


inverted = ruled(double, lambda ct: 1 / ct)
cut_apart = ruled(lambda y: (y[:2], y[2:]), lambda cts: jnp.concatenate(cts))
both_at_once = ruled(
    lambda y: (double(y), double(y)),
    lambda cts: jnp.concatenate([jnp.full(2, -0.0), cts[0][2:] + cts[1][2:]]),
)
added_in_a_rule = ruled(
    lambda y: (double(y), double(y)),
    lambda cts: jnp.concatenate(
        [jnp.full(2, -0.0), jax.vjp(lambda v: (v, v), cts[0][2:])[1](tuple(c[2:] for c in cts))[0]]
    ),
)


def pieces(x: Any) -> Any:
    y = inverted(x)
    return y[:2], y[2:]


second_inverted = ruled(double, lambda ct: jnp.concatenate([jnp.zeros(1), 1 / ct[1:2], jnp.zeros(2)]))
left_column = ruled(
    lambda y: (double(y), double(y).reshape(2, 2)[:, :1]),
    lambda cts: jnp.concatenate([jnp.zeros(1), 1 / cts[0][1:2], jnp.zeros(2)]),
)


def columns(x: Any) -> Any:
    """The cotangent is a sum that is no concatenation of pieces; the part that is asked of it has a zero in it."""
    y = second_inverted(x)
    return y, y.reshape(2, 2)[:, :1]


def constants(x: Any) -> Any:
    y = inverted(x)
    return with_start(-0.0)(y), with_start(0.0)(y)


def _twice(step: Function) -> Function:
    """A loop over time whose body gives a derivative, and divides by that of the time before."""

    def run(x: Any) -> Any:
        return lax.scan(lambda carry, t: (step(t), 1 / carry), X[0], x)[1]

    return run


def _scanned(t: Any) -> Any:
    return jax.grad(lambda w: lax.scan(lambda c, r: (c + w * r, None), 0.0, t[None])[0])(t)


def _looped(t: Any) -> Any:
    return jax.grad(lambda w: w * t)(t)


def _with_zeros(t: Any) -> Any:
    return jax.vjp(lambda y: (y, y), t)[1]((t, lax.optimization_barrier(jnp.zeros(()))))[0]


# Two functions, whether their gradients or themselves are compared, and a number for which they differ.
PAIRS: dict[str, tuple[Function, Function, bool, float]] = {
    "pieces of a sum": (pieces, lambda x: cut_apart(inverted(x)), True, -0.0),
    "a part of a sum that is no row of pieces": (columns, left_column, True, -0.0),
    "a constant beside a cotangent": (constants, lambda x: both_at_once(inverted(x)), True, -0.0),
    "a constant beside a sum": (constants, lambda x: added_in_a_rule(inverted(x)), True, -0.0),
    "a derivative of its own": (lambda x: 1 / _scanned(x[0]), lambda x: 1 / _looped(x[0]), False, -0.0),
    "from turn to turn": (_twice(_scanned), _twice(_looped), False, -0.0),
    "from turn to turn, a sum": (_twice(_with_zeros), _twice(lambda t: t), False, -0.0),
    "within the turn": (
        lambda x: lax.scan(lambda c, t: (c, 1 / _scanned(t)), 0.0, x)[1],
        lambda x: lax.scan(lambda c, t: (c, 1 / _looped(t)), 0.0, x)[1],
        False,
        -0.0,
    ),
}


def _programs(one: Function, other: Function, gradients: bool) -> tuple[list[Any], list[Any]]:
    """Both as jaxprs, and what they are functions of beside X."""
    if not gradients:
        return [jax.make_jaxpr(f)(X) for f in (one, other)], []
    cotangents = jax.eval_shape(one, X)
    traced = [jax.make_jaxpr(lambda x, ct, f=f: jax.vjp(f, x)[1](ct))(X, cotangents) for f in (one, other)]
    return traced, jax.tree.leaves(cotangents)


def _proof(one: Function, other: Function, gradients: bool) -> Proof:
    programs, cotangents = _programs(one, other, gradients)
    return prove(*programs, cotangents=len(cotangents))


@pytest.mark.parametrize("name", PAIRS)
def test_no_pair_that_differs_by_the_sign_of_a_zero_is_proved(name: str) -> None:
    one, other, gradients, number = PAIRS[name]
    programs, cotangents = _programs(one, other, gradients)
    given = [np.full(4, number if not gradients else 1.0, np.float32)]
    given += [np.full(ct.shape, number, np.float32) for ct in cotangents]
    values = [of(program, given)[0] for program in programs]  # where XLA fuses, it takes `0.0 + x` for x
    assert not np.array_equal(*values, equal_nan=True)
    assert not _proof(one, other, gradients).proved


@pytest.mark.parametrize(
    "name",
    ["pieces of a sum", "a derivative of its own", "from turn to turn", "from turn to turn, a sum", "within the turn"],
)
def test_they_are_proved_where_nobody_looks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, gradients, _ = PAIRS[name]
    monkeypatch.setattr(Signs, "look", lambda *_, **__: None)
    monkeypatch.setattr(Signs, "follow", lambda *_, **__: None)
    assert _proof(one, other, gradients).proved


@pytest.mark.parametrize("name", PAIRS)
def test_the_checker_shows_none_of_them(name: str) -> None:
    one, other, gradients, _ = PAIRS[name]
    (before, after), cotangents = _programs(one, other, gradients)
    certificate, unwritten = certificate_of(Proved("both", before, after, len(cotangents), 0))
    assert certificate["cases"][0]["checks"] == [] and len(unwritten) == 1
