"""Gradients are summed in the order in which they were: calls are made again, rows are taken apart at once."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import scanify
from scanify.rolling.scans import plan
from scanify.rolling.scans.emit import Rows
from scanify.verify.proof.attempt import proof_of
from tests.reroll.programs import lengths
from tests.reroll.test_wires import LIST, N, W, X


@jax.jit
def twice(x: Any) -> Any:
    return jnp.tanh(x) * jax.lax.logistic(x) - jnp.sin(x)


def in_each_layer(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = jnp.cos(x) + twice(x) - jnp.tanh(layer["w"] @ x + layer["b"])
    return x


def numbers_that_differ(layers: Any, x: Any) -> Any:
    for at, layer in enumerate(layers):
        inner = jax.jit(lambda x, at=at: twice(x * (at + 0.5)) + jnp.cos(x))
        x = jnp.cos(x) + inner(x) - jnp.tanh(layer["w"] @ x + layer["b"])
    return x


def rows_that_differ(w: Any, x: Any) -> Any:
    for at in range(N):
        inner = jax.jit(lambda w, x, at=at: twice(x) + jnp.cos(w[at] @ x))
        x = jnp.cos(x) + inner(w, x) - jnp.tanh(w[at] @ x)
    return x


def around_all(layers: Any, x: Any) -> Any:
    inner = jax.jit(lambda layers, x: in_each_layer(layers, twice(x)))
    return jnp.cos(x) + inner(layers, x) + jnp.sin(x)


def around_some(layers: Any, x: Any) -> Any:
    """What is kept of the layers is read outside of the call, so that it is taken apart."""

    @jax.jit
    def inner(layers: Any, x: Any) -> Any:
        kept = []
        for layer in layers:
            x = twice(jnp.tanh(layer["w"] @ x + layer["b"]))
            kept.append(x)
        return kept

    kept = inner(layers, x)
    for one, layer in zip(kept, layers, strict=True):
        x = jnp.cos(x) + one * jax.nn.sigmoid(layer["b"] - x) + jnp.tanh(x)
    return x


def kept(layers: Any, x: Any) -> Any:
    found = []
    for layer in layers:
        y = jnp.cos(x)
        found.append(y * 2)
        x = jnp.tanh(layer["w"] @ (x - y) + layer["b"]) + jnp.exp(y)
    return x + sum(jnp.sin(each) for each in found)


def gradients(f: Callable[..., Any], *args: Any) -> Any:
    """The program of the gradient with respect to the last argument."""
    total = lambda *args: jnp.sum(f(*args) ** 2)  # noqa: E731
    return jax.make_jaxpr(jax.grad(total, argnums=len(args) - 1))(*args)


def proved(f: Callable[..., Any], *args: Any) -> bool:
    rerolled = scanify.reroll(f, min_layers=3)
    ours, theirs = (gradients(each, *args) for each in (rerolled, f))
    assert max(lengths(ours)) >= N - 1
    return proof_of(theirs, ours).proved


CASES = [
    pytest.param(in_each_layer, LIST, id="in each layer"),
    pytest.param(numbers_that_differ, LIST, id="with numbers that differ"),
    pytest.param(rows_that_differ, W, id="with rows that differ"),
    pytest.param(around_all, LIST, id="around all layers"),
]


@pytest.mark.parametrize(("f", "params"), CASES)
def test_gradients_are_summed_as_they_were(f: Callable[..., Any], params: Any) -> None:
    assert proved(f, params, X)


@pytest.mark.parametrize(("f", "params"), CASES)
def test_this_would_see_another_order(f: Callable[..., Any], params: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "called", lambda *given: {})
    assert not proved(f, params, X)


def test_rows_are_taken_apart_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proved(kept, LIST, X)
    monkeypatch.setattr(Rows, "row", lambda self, at: self.array[at])
    assert not proved(kept, LIST, X)


def names(jaxpr: Any) -> list[str]:
    return [equation.params["name"] for equation in jaxpr.eqns if equation.primitive.name in ("jit", "pjit")]


def test_calls_that_make_no_difference_are_taken_apart() -> None:
    """Nothing but the call reads what it is given."""
    whole = jax.jit(in_each_layer)
    assert names(jax.make_jaxpr(scanify.reroll(whole, min_layers=3))(LIST, X)) == []
    assert names(jax.make_jaxpr(scanify.reroll(around_all, min_layers=3))(LIST, X)) == ["<lambda>"]


def test_what_is_stacked_stays_so() -> None:
    program = jax.make_jaxpr(scanify.reroll(around_some, min_layers=3))(LIST, X)
    assert lengths(program) == [N, N]
    assert names(program) == []
