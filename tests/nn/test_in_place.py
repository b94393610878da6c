"""Stacks that are written group by group are what numpy stacks, and leave what they are made of alone."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn.trees.in_place import GROUP
from scanify.nn.trees.stack_leaves import stack_leaves


@pytest.mark.parametrize("count", [1, 2, GROUP, GROUP + 1, 2 * GROUP, 2 * GROUP + 5])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
def test_a_stack_of_many_is_that_of_numpy(count: int, dtype: str) -> None:
    column = [((jnp.arange(6).reshape(2, 3) + at) % 7).astype(dtype) for at in range(count)]
    kept = [np.asarray(array) for array in column]
    got = stack_leaves(column)
    assert got.dtype == dtype and not got.weak_type
    np.testing.assert_array_equal(got, np.stack(kept))
    for array, was in zip(column, kept, strict=True):
        np.testing.assert_array_equal(array, was)


@pytest.mark.parametrize("count", [3, GROUP + 2])
def test_weak_types_keys_and_devices_are_kept(count: int) -> None:
    assert stack_leaves([jnp.asarray(0.5)] * count).weak_type
    assert not stack_leaves([jnp.asarray(0.5), *[jnp.ones(())] * count]).weak_type
    keys = jr.split(jr.key(0), count)
    np.testing.assert_array_equal(jr.key_data(stack_leaves(list(keys))), jr.key_data(keys))
    placed = [jax.device_put(jnp.full(2, at, "float32"), jax.devices()[0]) for at in range(count)]
    assert stack_leaves(placed).committed and not stack_leaves([jnp.ones(2)] * count).committed


def test_what_is_traced_is_stacked_where_it_is_traced() -> None:
    column = [jnp.full(2, at) for at in range(GROUP + 1)]
    found = jax.make_jaxpr(lambda *column: stack_leaves(column))(*column)
    assert found.jaxpr.outvars[0].aval.shape == (GROUP + 1, 2) and "jit" not in str(found)
    np.testing.assert_array_equal(jax.jit(lambda: stack_leaves(column))(), np.stack(column))
