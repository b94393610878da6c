"""Stacks that scans, loops, branches and batches of jax hold as data are the lists of layers that they would hold."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq

KINDS: list[Any] = [ArrayStacked.of, BlockSeq.of]
X = jnp.linspace(-0.5, 1, 3)


class Layer(eqx.Module):
    w: jax.Array
    b: jax.Array

    def __call__(self, x: Any) -> Any:
        return x + jnp.tanh(self.w @ x + self.b)


def layers(key: Any) -> list[Layer]:
    return [Layer(jr.normal(one, (3, 3)), jr.normal(one, (3,))) for one in jr.split(key, 4)]


def run(stack: Any, x: Any) -> Any:
    if not isinstance(stack, list):
        return stack.fold_via(Layer.__call__)(x)
    for layer in stack:
        x = layer(x)
    return x


def trained_in_a_scan(make: Callable[[Any], Any]) -> Any:
    def step(stack: Any, x: Any) -> Any:
        gradient = jax.grad(lambda stack: (run(stack, x) ** 2).sum())(stack)
        return jax.tree.map(lambda p, g: p - 0.1 * g, stack, gradient), None

    return jax.lax.scan(step, make(layers(jr.key(0))), jr.normal(jr.key(1), (5, 3)))[0]


def shrunk_in_a_while_loop(make: Callable[[Any], Any]) -> Any:
    def smaller(stack: Any) -> Any:
        return jax.tree.map(lambda p: 0.7 * p, stack)

    return jax.lax.while_loop(lambda stack: run(stack, X).sum() > 2, smaller, make(layers(jr.key(0))))


def one_of_two(make: Callable[[Any], Any]) -> Any:
    pair = make(layers(jr.key(0))), make(layers(jr.key(1)))
    return [jax.jit(lambda at: jax.lax.cond(at, lambda a, b: a, lambda a, b: b, *pair))(at) for at in (True, False)]


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("held", [trained_in_a_scan, shrunk_in_a_while_loop, one_of_two])
def test_what_holds_a_stack_holds_its_layers(held: Callable[[Any], Any], make: Any) -> None:
    got = jax.tree.map(list, held(make), is_leaf=lambda node: isinstance(node, ArrayStacked | BlockSeq))
    wanted = held(list)
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", KINDS)
def test_a_batch_of_stacks_is_made_and_applied(make: Any) -> None:
    keys = jr.split(jr.key(0), 5)
    batch = eqx.filter_vmap(lambda key: make(layers(key)))(keys)
    got = eqx.filter_vmap(run, in_axes=(0, None))(batch, X)
    np.testing.assert_allclose(got, jnp.stack([run(layers(key), X) for key in keys]), rtol=1e-5, atol=1e-6)
