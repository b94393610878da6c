"""A carry that a layer promotes is refused with the operation that does it, and its line."""

import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked

X = jnp.ones((4, 8), jnp.bfloat16)
TABLE = jnp.ones((4, 8), jnp.float32)


class Block(eqx.Module):
    proj: jax.Array

    def __call__(self, x: jax.Array, cos: jax.Array) -> jax.Array:
        h = x @ self.proj
        h = jnp.roll(h, 1, -1) * cos
        return x + h

    def within_a_function(self, x: jax.Array, cos: jax.Array) -> jax.Array:
        return jax.jit(lambda x: jax.nn.relu(x) - cos)(x)

    def accumulated(self, x: jax.Array, cos: jax.Array) -> jax.Array:
        return jnp.matmul(x, self.proj, preferred_element_type=jnp.float32)

    def of_another_shape(self, x: jax.Array, cos: jax.Array) -> jax.Array:
        return x[:2]


def refused(fn: Any, x: jax.Array = X) -> str:
    layers = ArrayStacked.of([Block(jnp.full((8, 8), one, jnp.bfloat16)) for one in range(3)])
    with pytest.raises(TypeError) as raised:
        layers.fold_via(fn)(x, TABLE)
    return str(raised.value)


@pytest.mark.parametrize(
    ("fn", "line", "operation"),
    [
        (Block.__call__, 2, "mul with float32[4, 8]"),
        (Block.within_a_function, 1, "sub with float32[4, 8]"),
        (Block.accumulated, 1, "dot_general"),
    ],
)
def test_the_operation_that_promotes_is_named(fn: Any, line: int, operation: str) -> None:
    at = inspect.getsourcelines(fn)[1] + line
    said = refused(fn)
    assert "bfloat16[4,8] went in, float32[4,8] came out" in said
    assert said.endswith(f" The first operation that makes it float32 is {operation} at test_promotion.py:{at}.")


def test_another_change_has_no_such_operation() -> None:
    assert "The first operation" not in refused(Block.of_another_shape)


def test_what_keeps_its_dtype_is_scanned() -> None:
    layers = ArrayStacked.of([Block(jnp.full((8, 8), one, jnp.bfloat16)) for one in range(3)])
    assert layers.fold(X, TABLE.astype(jnp.bfloat16)).dtype == jnp.bfloat16
