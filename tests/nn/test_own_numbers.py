"""Python numbers that are parameters: each layer of a stack has its own, as in a list."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq


class Layer(eqx.Module):
    w: jax.Array
    p: float
    count: int = 2

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x * self.w * self.p * self.count


def layers() -> list[Layer]:
    return [Layer(jnp.float32(i + 1), 0.5) for i in range(3)]


def loop(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = layer(x)
    return x


def is_trained(leaf: Any) -> bool:
    return bool(eqx.is_inexact_array_like(leaf))


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_each_layer_has_its_own_gradient_and_update(kind: Any) -> None:
    def train(model: Any, run: Any) -> Any:
        for _ in range(2):
            params, static = eqx.partition(model, is_trained)
            grads = jax.jit(jax.grad(lambda params: run(eqx.combine(params, static), 2.0)))(params)  # noqa: B023
            params = jax.tree.map(lambda value, grad: value - 0.01 * grad, params, grads)
            model = eqx.combine(params, static)
        return model

    got, wanted = train(kind.of(layers()), lambda stack, x: stack.fold(x)), train(layers(), loop)
    for mine, theirs in zip(got, wanted, strict=True):
        assert mine.p.weak_type == theirs.p.weak_type
        np.testing.assert_allclose([mine.p, mine.w], [theirs.p, theirs.w], rtol=1e-6)
    np.testing.assert_allclose(got.fold(2.0), loop(wanted, 2.0), rtol=1e-6)
    assert len({float(layer.p) for layer in got.take([2, 0])}) == 2


def test_a_layer_sees_the_number_that_it_was_built_with() -> None:
    seen = []

    class Branches(Layer):
        def __call__(self, x: Any, *, key: Any = None) -> Any:
            seen.append((type(self.p), self.p))
            return x if self.p == 0.5 else -x

    stack = ArrayStacked.of([Branches(layer.w, layer.p) for layer in layers()])
    assert stack.fold(2.0) == 2.0
    assert seen == [(float, 0.5)]
    assert type(stack[1].p) is float
    assert stack.stacked.p == 0.5
    assert stack.stacked.p != 0.25
    assert "p=0.5" in repr(stack)


def test_under_jit_every_number_is_an_array_and_each_layer_has_its_own() -> None:
    stack = ArrayStacked.of(layers())
    arrays, static = eqx.partition(stack, lambda leaf: eqx.is_array_like(leaf) and not isinstance(leaf, bool))
    got = jax.jit(lambda arrays, x: eqx.combine(arrays, static).fold(x))(arrays, 2.0)
    np.testing.assert_allclose(got, loop(layers(), 2.0), rtol=1e-6)


def test_one_number_for_all_layers_may_be_put_in_their_place() -> None:
    stack = eqx.tree_at(lambda stack: stack.stacked.p, ArrayStacked.of(layers()), 0.25)
    want = loop([Layer(layer.w, 0.25) for layer in layers()], 2.0)
    np.testing.assert_allclose(stack.fold(2.0), want, rtol=1e-6)
    assert stack[0].p == 0.25


def test_numbers_of_several_types_are_refused_with_what_takes_them() -> None:
    stack = ArrayStacked.of(layers())
    numbers = [0.5, jnp.float32(0.5), 0.5]
    mixed = eqx.tree_at(lambda stack: list(stack.stacked.p), stack, numbers)
    with pytest.raises(ValueError, match=r"numbers of one type at .p, got 0.5, float32\[\]; hold .* BlockSeq"):
        mixed.fold(2.0)


def test_an_array_that_all_layers_would_share_is_refused() -> None:
    stack = eqx.tree_at(lambda stack: stack.stacked.p, ArrayStacked.of(layers()), jnp.float32(0.25))
    with pytest.raises(ValueError, match=r"3 layers along axis 0; .p is float32\[\]"):
        stack.fold(2.0)


def test_a_stack_made_of_the_parts_of_another_is_the_same() -> None:
    stack = ArrayStacked.of(layers())
    again = ArrayStacked(stack.stacked, 3, "nested")
    assert eqx.tree_equal(again.unstacked(), stack.unstacked(), typematch=True)
