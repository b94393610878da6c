"""Layers that compute with complex numbers, as Fourier neural operators do."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked


class Spectral(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        """A filter of the spectrum: shape `(8,)` to the same, float in and out."""
        return x + jnp.fft.irfft(jnp.fft.rfft(x) * jax.lax.complex(self.weight[0], self.weight[1]), n=8)


@pytest.mark.parametrize("policy", [False, True, "nested", "save_all"])
def test_gradients_of_complex_layers_are_those_of_the_loop(policy):
    layers = [Spectral(jax.random.normal(key, (2, 5))) for key in jax.random.split(jax.random.key(0), 3)]
    x = jnp.arange(8.0)

    def loop(layers, x):
        for layer in layers:
            x = layer(x)
        return jnp.sum(jnp.sin(x))

    def stacked(layers, x):
        return jnp.sum(jnp.sin(ArrayStacked.of(layers, gradient_checkpointing=policy).fold(x)))

    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: leaf.astype("float64"), layers)
        ours, theirs = (jax.jit(jax.grad(f))(wide, x.astype("float64")) for f in (stacked, loop))
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.weight, other.weight, rtol=1e-12, atol=1e-13)
