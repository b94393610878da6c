"""`layers.take(numbers)` applies the layers that a loop over these numbers applies."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.nn import ArrayStacked, BlockSeq

DEPTH = 4


class Block(eqx.Module):
    weight: jax.Array
    rate: float
    name: Any = eqx.field(static=True, default=None)

    def __call__(self, x: jax.Array, k: Any = 1.0) -> jax.Array:
        return x + self.rate * jnp.tanh(self.weight @ x) * k


def layers(unlike: bool) -> list[Block]:
    keys = jr.split(jr.key(0), DEPTH)
    return [
        Block(jr.normal(k, (3, 3)), 0.5 + 0.25 * (unlike and i % 2), "ab"[unlike and i > 2]) for i, k in enumerate(keys)
    ]


NUMBERS = st.one_of(
    st.builds(range, st.integers(-DEPTH, DEPTH), st.integers(-DEPTH, DEPTH), st.sampled_from([1, 1, 2, -1, -2])),
    st.lists(st.integers(-DEPTH, DEPTH), max_size=5),
)


@pytest.mark.parametrize("container", [ArrayStacked, BlockSeq])
@settings(max_examples=12, deadline=None)
@given(numbers=NUMBERS, unlike=st.booleans())
def test_numbers_are_those_of_a_list(container: Any, numbers: Any, unlike: bool) -> None:
    built = layers(unlike and container is BlockSeq)

    def loop(built: Any, x: jax.Array) -> jax.Array:
        for number in numbers:
            x = built[number](x)
        return jnp.sum(x**2)

    def taken(built: Any, x: jax.Array) -> jax.Array:
        return jnp.sum(container.of(built).take(numbers).fold(x) ** 2)

    x = jnp.linspace(0.1, 0.9, 3)
    if any(not -DEPTH <= number < DEPTH for number in numbers):
        with pytest.raises(IndexError, match="4 layers"):
            taken(built, x)
        return
    ours, theirs = (eqx.filter_value_and_grad(one)(built, x) for one in (taken, loop))
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("container", [ArrayStacked, BlockSeq])
def test_all_numbers_in_order_take_nothing_apart(container: Any) -> None:
    stack = container.of(layers(unlike=False))
    assert stack.take(range(DEPTH)) is stack
    assert stack.take(iter(range(-DEPTH, 0))) is stack
    assert stack.take(range(1, DEPTH)) is not stack


@pytest.mark.parametrize("container", [ArrayStacked, BlockSeq])
def test_what_is_taken_is_scanned_over_and_keeps_its_policy(container: Any) -> None:
    stack = container.of(layers(unlike=False), gradient_checkpointing="dots")
    part = stack.take(range(3, 0, -1))
    assert (len(part), part.gradient_checkpointing) == (3, "dots")
    assert str(jax.make_jaxpr(part.fold)(jnp.ones(3))).count(" scan[") == 1


@pytest.mark.parametrize("container", [ArrayStacked, BlockSeq])
def test_no_number_is_a_sequence_that_does_nothing(container: Any) -> None:
    part = container.of(layers(unlike=False)).take(range(2, 2))
    x = jnp.ones(3)
    assert part.fold(x) is x
    assert part.collect_via(lambda layer, x: (layer(x), x))(x)[1] == []
    assert part.map_via(Block.__call__)(x) == []
    assert (len(part), list(part), part.describe()) == (0, [], "0 layers: none")


def test_what_is_walked_beside_goes_with_the_numbers() -> None:
    built = layers(unlike=False)
    part = ArrayStacked.of(built).take(range(DEPTH - 1, 0, -1))
    x = jnp.ones(3)
    expected = x
    for at, number in enumerate(range(DEPTH - 1, 0, -1)):
        expected = built[number](expected, float(at))
    np.testing.assert_allclose(part.fold(x, [0.0, 1.0, 2.0], in_axes=(0,)), expected, rtol=1e-5)


@pytest.mark.parametrize("number", [1.5, "1", None])
def test_what_is_no_number_is_a_type_error(number: Any) -> None:
    with pytest.raises(TypeError):
        BlockSeq.of(layers(unlike=False)).take([number])
