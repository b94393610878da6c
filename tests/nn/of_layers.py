"""What the tests of sequences hold their layers against: the plain loop, in float64."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn import BlockSeq

D = 3


def arrays(tree: Any) -> list[Any]:
    return jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))


def assert_same(got: Any, want: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        # Relative to the array: an entry in which large terms cancel has the rounding errors of those.
        scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * scale)
        assert (jnp.shape(one), jnp.result_type(one)) == (jnp.shape(other), jnp.result_type(other))


X = np.linspace(-1, 1, D)


def loop_plain(layers: Sequence[Any], x: Any) -> Any:
    for layer in layers:
        x = layer(x)
    return x


def found(layers: Sequence[Any], *args: Any, fn: Any = None, **options: Any) -> str:
    call = fn or (lambda layer, x, *args: layer(x, *args))
    return BlockSeq.of(layers).describe_via(call, **options)(*args).split(";")[0]
