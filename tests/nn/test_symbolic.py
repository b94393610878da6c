"""Stacks under `jax.export` with sizes that are not known yet."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from scanify.nn import ArrayStacked, BlockSeq


class Layer(eqx.Module):
    w: jax.Array

    def __call__(self, x: Any, *, key: Any = None) -> Any:
        return x + jnp.tanh(x @ self.w)


LAYERS = [Layer(jnp.full((2, 2), 0.1 * i)) for i in range(5)]


@pytest.mark.parametrize("policy", [True, False, "nested"])
@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_a_batch_of_unknown_size(kind: Any, policy: Any) -> None:
    def loss(x: Any) -> Any:
        return kind.of(LAYERS, gradient_checkpointing=policy).fold(x).sum()

    def loop(x: Any) -> Any:
        for layer in LAYERS:
            x = layer(x)
        return x.sum()

    (batch,) = export.symbolic_shape("b")
    exported = export.export(jax.jit(jax.grad(loss)))(jax.ShapeDtypeStruct((batch, 2), jnp.float32))
    x = jnp.arange(6.0).reshape(3, 2) / 6
    np.testing.assert_allclose(exported.call(x), jax.grad(loop)(x), rtol=1e-5)
