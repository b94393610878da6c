"""Layers that give a number, whatever they are given: it is the array that a loop gets, of the same dtype."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import BlockSeq


class Layer(eqx.Module):
    scale: jax.Array

    def __call__(self, x):
        return x * self.scale


def layers(count):
    return [Layer(jnp.full(3, 0.5 + index)) for index in range(count)]


VALUES = [jnp.array(True), np.float32(0.5), np.int8(3), jnp.float32(2.0), jnp.int32(7)]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value.dtype))
def test_a_constant_that_a_layer_gives(count, value):
    with jax.enable_x64(True):
        _, ys = BlockSeq.of(layers(count)).scan_via(lambda layer, x: (layer(x), jnp.asarray(value)))(jnp.ones(3))
    assert (ys.shape, ys.dtype) == ((count,), value.dtype)
    np.testing.assert_array_equal(ys, np.full(count, value))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value.dtype))
def test_a_constant_in_the_carry(value):
    def step(layer, carry):
        x, _ = carry
        return layer(x), jnp.asarray(value)

    with jax.enable_x64(True):
        _, last = BlockSeq.of(layers(1)).fold_via(step)((jnp.ones(3), jnp.zeros((), value.dtype)))
    assert (last.dtype, last.shape, bool(last.weak_type)) == (value.dtype, (), False)
    assert last == value
