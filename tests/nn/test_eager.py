"""Calls outside of `jax.jit`: compiled once for each program, and never one that is no longer true."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq
from scanify.nn.programs.eager import COMPILED

KINDS = [ArrayStacked, BlockSeq]
X = jnp.linspace(-1, 1, 3)


class Layer(eqx.Module):
    w: jax.Array
    act: Any = jax.nn.relu

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x + self.act(x * self.w)


def layers(start: float = 0.1) -> list[Layer]:
    return [Layer(jnp.full(3, start + 0.1 * i)) for i in range(4)]


def loop(layers: list[Layer], x: Any, scale: Any) -> Any:
    for layer in layers:
        x = layer(x) * scale
    return x


def programs() -> int:
    return len(COMPILED._known)


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_is_compiled_once_whatever_the_arrays_and_the_functions(kind: Any) -> None:
    def run(start: float, scale: float) -> None:
        given = jnp.float32(scale)
        got = kind.of(layers(start)).fold_via(lambda layer, x: layer(x) * given)(X)  # closes over an array
        np.testing.assert_allclose(got, loop(layers(start), X, scale), rtol=1e-6)

    run(0.1, 1.5)
    count = programs()
    for start, scale in ((0.2, 1.5), (0.3, 0.5), (-0.1, 2.0)):
        run(start, scale)
    assert programs() == count


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_function_reads_from_around_it_is_never_old(kind: Any) -> None:
    stack, scale = kind.of(layers()), 1.0

    def step(layer: Any, x: Any) -> Any:
        return layer(x) * scale

    for scale in (1.0, 2.0, 0.5):
        np.testing.assert_allclose(stack.fold_via(step)(X), loop(layers(), X, scale), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_shared_is_concrete_as_in_a_loop(kind: Any) -> None:
    def step(layer: Any, x: Any, scale: Any) -> Any:
        return layer(x) * scale if float(scale) > 1 else x

    stack = kind.of(layers())
    np.testing.assert_allclose(stack.fold_via(step)(X, jnp.float32(2)), loop(layers(), X, 2.0), rtol=1e-6)
    np.testing.assert_allclose(stack.fold_via(step)(X, jnp.float32(0.5)), X)


@pytest.mark.parametrize("kind", KINDS)
def test_effects_happen_at_every_call(kind: Any) -> None:
    seen: list[int] = []

    def step(layer: Any, x: Any, at: Any) -> Any:
        jax.debug.callback(lambda at: seen.append(int(at)), at)
        return layer(x)

    stack = kind.of(layers())
    for _ in range(2):
        stack.fold_via(step, in_axes=0)(X, jnp.arange(4))
        jax.effects_barrier()
    assert sorted(seen) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_a_function_with_a_derivative_of_its_own_keeps_it(kind: Any) -> None:
    @jax.custom_jvp
    def double(x: Any) -> Any:
        return 2 * x

    double.defjvp(lambda primals, tangents: (double(*primals), 5 * tangents[0]))
    stack = kind.of([Layer(layer.w, double) for layer in layers()])
    wanted = [Layer(layer.w, double) for layer in layers()]
    np.testing.assert_allclose(stack(X), loop(wanted, X, 1.0), rtol=1e-6)
    got = jax.grad(lambda x: stack(x).sum())(X)
    np.testing.assert_allclose(got, jax.grad(lambda x: loop(wanted, x, 1.0).sum())(X), rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_with_jit_disabled_the_layers_run_one_by_one(kind: Any) -> None:
    count = programs()
    with jax.disable_jit():
        got = kind.of(layers())(X)
    np.testing.assert_allclose(got, loop(layers(), X, 1.0), rtol=1e-6)
    assert programs() == count


LARGE = jnp.ones((3, 400_000))


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_may_compute_of_arrays_around_it_what_nothing_reads(kind: Any) -> None:
    def step(layer: Layer, x: Any) -> Any:
        jax.jit(jnp.sin)(LARGE + x[0]) * 2
        return layer(x)

    np.testing.assert_allclose(kind.of(layers()).fold_via(step)(X), loop(layers(), X, 1.0), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_may_write_to_a_mutable_array_around_it(kind: Any) -> None:
    if not hasattr(jax, "new_ref"):
        pytest.skip("this jax has no mutable arrays")
    sums = [jax.new_ref(jnp.zeros_like(X)) for _ in range(2)]

    def step(at: int, layer: Layer, x: Any) -> Any:
        sums[at][...] = sums[at][...] + x
        return layer(x)

    for _ in range(2):
        kind.of(layers()).fold_via(functools.partial(step, 0))(X)
        x = X
        for layer in layers():
            x = step(1, layer, x)
    np.testing.assert_allclose(sums[0][...], sums[1][...], rtol=1e-6)
