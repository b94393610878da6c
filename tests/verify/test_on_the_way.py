"""Rules that somebody wrote: what they give under differentiation, for some arguments alone, and in batches."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero

from scanify.verify.verdict import Status
from tests.verify.functions import Function, compared, proved, verdicts

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25


def forward_rule(scale: float) -> Function:
    """Gives `scale` times the value where it is differentiated."""
    f = jax.custom_vjp(lambda x: jnp.sum(jnp.sin(x)))
    f.defvjp(lambda x: (scale * jnp.sum(jnp.sin(x)), jnp.cos(x)), lambda cos, ct: (ct * cos,))
    return lambda p, x: f(p * x)


def primal_of_jvp(shift: float) -> Function:
    f = jax.custom_jvp(jnp.sin)
    f.defjvp(lambda primals, tangents: (jnp.sin(primals[0]) + shift, jnp.cos(primals[0]) * tangents[0]))
    return lambda p, x: f(p * x)


def asks_for_zeros(scale: float) -> Function:
    """A tangent that is another one where only the parameter moves."""

    @jax.custom_jvp
    def f(p: Any, x: Any) -> Any:
        return p * x

    def rule(primals: Any, tangents: Any) -> Any:
        (p, x), (dp, dx) = primals, tangents
        if isinstance(dx, SymbolicZero):
            return p * x, scale * x * dp
        return p * x, (p * dx if isinstance(dp, SymbolicZero) else p * dx + x * dp)

    f.defjvp(rule, symbolic_zeros=True)
    return lambda p, x: f(p, x)


def asks_what_is_perturbed(scale: float, which: int) -> Function:
    @eqx.filter_custom_vjp
    def f(both: Any) -> Any:
        return both[0] * both[1]

    @f.def_fwd
    def fwd(perturbed: Any, both: Any) -> Any:
        return both[0] * both[1], None

    @f.def_bwd
    def bwd(kept: Any, ct: Any, perturbed: Any, both: Any) -> Any:
        grads = [ct * both[1], ct * both[0]]
        if not perturbed[1 - which]:
            grads[which] = grads[which] * scale
        return tuple(grads)

    return lambda p, x: f((p, x))


def stops_in_the_rule(stop: Function) -> Function:
    """The gradients are the same, and what they are differentiated to is not."""
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct * stop(jnp.cos(x)),))
    return lambda p, x: f(p * x)


def batches(wrong: Function) -> Function:
    """A sum whose batches are wrong where `wrong(size, batched)` says so."""

    @custom_vmap
    def f(a: Any, b: Any) -> Any:
        return a + b

    @f.def_vmap
    def rule(size: int, batched: Any, a: Any, b: Any) -> Any:
        return a + b + (1.0 if wrong(size, batched) else 0.0), True

    return lambda p, x, y: f(x, y) * p


def in_a_loop(rule: Function) -> Function:
    """Together with a scan over layers."""
    return lambda p, x: jax.lax.scan(lambda c, w: (rule(w, c), None), x, jnp.stack([p, p]))[0]


def same(of: Any) -> Any:
    return of


DIFFER: dict[str, tuple[Function, Function, str]] = {
    "the value of a forward rule": (forward_rule(1.0), forward_rule(0.5), "gradients"),
    "the value of a forward tangent": (primal_of_jvp(0.0), primal_of_jvp(1.0), "gradients"),
    "it asks for zeros": (asks_for_zeros(1.0), asks_for_zeros(2.0), "gradients"),
    "it asks for the input": (asks_what_is_perturbed(1.0, 0), asks_what_is_perturbed(3.0, 0), "gradients"),
    "it asks for the parameter": (asks_what_is_perturbed(1.0, 1), asks_what_is_perturbed(3.0, 1), "gradients"),
    "second derivatives": (stops_in_the_rule(same), stops_in_the_rule(jax.lax.stop_gradient), "gradients"),
    "inside of a scan": (in_a_loop(primal_of_jvp(0.0)), in_a_loop(primal_of_jvp(0.5)), "gradients"),
}
BATCHED: dict[str, Function] = {
    "the first alone": lambda size, batched: batched[0] and not batched[1],
    "the second alone": lambda size, batched: batched[1] and not batched[0],
    "batches of three": lambda size, batched: size > 2,
}


@pytest.mark.parametrize("name", DIFFER)
def test_what_training_would_see_is_compared(name: str) -> None:
    before, after, check = DIFFER[name]
    found = verdicts(compared(before, after, W, X))
    assert found["outputs"] is Status.PROVED
    assert found[check] is Status.FAILED


@pytest.mark.parametrize("name", BATCHED)
def test_every_argument_is_batched_alone(name: str) -> None:
    found = verdicts(compared(batches(lambda *_: False), batches(BATCHED[name]), W, X, X + 1))
    assert found["outputs"] is Status.PROVED and found["batched"] is Status.FAILED


@pytest.mark.parametrize("name", DIFFER)
def test_the_same_rules_are_proved(name: str) -> None:
    before, _, _ = DIFFER[name]
    again = {"forward": forward_rule(1.0)}.get(name, before)
    assert proved(compared(before, again, W, X))


def energy(order: tuple[int, ...]) -> Function:
    """Forces: gradients that the call itself computes, and returns."""
    terms = [lambda x: 1e8 * jnp.sum(x), jnp.sum, lambda x: -1e8 * jnp.sum(x)]
    return lambda p, x: -jax.grad(lambda v: sum(terms[at](v) for at in order))(p * x)


def test_the_order_of_a_sum_counts_where_the_call_returns_it() -> None:
    one, other = energy((0, 1, 2)), energy((1, 2, 0))
    assert not jnp.array_equal(one(W, X), other(W, X))
    assert verdicts(compared(one, other, W, X))["outputs"] is not Status.PROVED
    assert proved(compared(one, energy((0, 1, 2)), W, X))
