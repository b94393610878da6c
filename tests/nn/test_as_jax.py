"""Whole numbers of numpy that jax would cut, as it has 32 bits for them: an error, where a loop computed with all of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, fold


class Hashed(eqx.Module):
    table: jax.Array
    factor: np.ndarray

    def __call__(self, x):
        return x + self.table[(jnp.asarray(3) * self.factor) % self.table.shape[0]].sum()


def layers(factor: int, dtype: type = np.int64) -> list[Hashed]:
    return [Hashed(jnp.arange(4.0) + i, np.array([factor + i], dtype)) for i in range(3)]


@pytest.mark.parametrize("stack", [ArrayStacked.of, BlockSeq.of])
@pytest.mark.parametrize(("factor", "dtype"), [(2**33, np.int64), (-(2**33), np.int64), (2**33, np.uint64)])
def test_numbers_of_more_bits_are_refused(stack, factor, dtype):
    with pytest.raises(ValueError, match=r"whole numbers that u?int32 holds.*; got -?8589934"):
        stack(layers(factor, dtype)).fold(jnp.asarray(0.0))


@pytest.mark.parametrize("stack", [ArrayStacked.of, BlockSeq.of])
@pytest.mark.parametrize(("factor", "dtype"), [(2**30, np.int64), (5, np.uint64), (2**31, np.uint32), (7, np.int8)])
def test_others_are_computed_with(stack, factor, dtype):
    made = layers(factor, dtype)
    x = jnp.asarray(0.0)
    for layer in made:
        x = layer(x)
    assert stack(made).fold(jnp.asarray(0.0)) == x


@pytest.mark.parametrize("stack", [ArrayStacked.of, BlockSeq.of])
def test_with_64_bits_all_are(stack):
    with jax.enable_x64(True):
        assert stack(layers(2**33)).fold(jnp.asarray(0.0)).shape == ()


def test_arguments_of_each_layer_are_looked_at_too():
    with pytest.raises(ValueError, match="whole numbers that int32 holds"):
        fold(lambda carry, x: carry + x)(jnp.asarray(0), np.array([1, 2**40]))
    assert fold(lambda carry, x: carry + x)(jnp.asarray(0), np.array([1, 2])) == 3
