"""To the rest of a program a stack is the sequence of its layers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked


class Block(eqx.Module):
    w: Any
    table: Any
    name: str = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return x * self.w


LAYERS = [Block(jnp.arange(2.0) + i, np.arange(3) * i, "b") for i in range(4)]
STACK = ArrayStacked.of(LAYERS)


def same(one: Any, other: Any) -> bool:
    return bool(eqx.tree_equal(one, other, typematch=True))


@pytest.mark.parametrize("index", [*range(-4, 4), np.int64(2), np.uint8(1), jnp.int32(3), True])
def test_an_index_gives_that_layer(index: Any) -> None:
    assert same(STACK[index], LAYERS[index])
    assert same(STACK.get_layer(index), LAYERS[index])


@pytest.mark.parametrize("index", [4, -5, np.int64(100)])
def test_an_index_beyond_the_ends_is_an_index_error(index: Any) -> None:
    with pytest.raises(IndexError, match="4 layers"):
        STACK[index]


@pytest.mark.parametrize("index", [1.0, "1", None, (1, 2)])
def test_what_is_no_index_is_a_type_error(index: Any) -> None:
    with pytest.raises(TypeError):
        STACK[index]


@pytest.mark.parametrize(
    "where",
    [slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(0, 4, 3), slice(2, 2), slice(-9, 99)],
    ids=str,
)
def test_a_slice_gives_a_list_as_of_a_list(where: slice) -> None:
    part = STACK[where]
    assert type(part) is list
    assert len(part) == len(LAYERS[where])
    assert all(map(same, part, LAYERS[where]))


def test_slices_and_layers_are_put_together_as_lists_are() -> None:
    layers = STACK[:2] + [LAYERS[0]]  # noqa: RUF005
    assert len(layers) == 3
    assert same(layers[1], LAYERS[1])


def test_iteration_and_length() -> None:
    assert len(STACK) == 4
    assert all(map(same, STACK, LAYERS))
    assert all(map(same, reversed(STACK), LAYERS[::-1]))
    assert [index for index, _ in enumerate(STACK)] == [0, 1, 2, 3]
    assert all(map(same, STACK.unstacked(), LAYERS))
    assert type(STACK.unstacked()) is tuple
    assert bool(STACK)


def test_a_loop_that_is_left_in_a_program_runs_and_has_gradients() -> None:
    def loss(stack: Any) -> Any:
        x = jnp.ones(2)
        for layer in stack:
            x = layer(x)
        return (x * stack[-1].w).sum()

    grads = eqx.filter_grad(loss)(STACK)
    expected = eqx.filter_grad(loss)(LAYERS)
    np.testing.assert_array_equal(grads.stacked.w, np.stack([layer.w for layer in expected]))


def test_a_traced_index_takes_that_layer() -> None:
    @jax.jit
    def apply(index: Any) -> Any:
        return STACK[index].w

    for index in range(4):
        np.testing.assert_array_equal(apply(index), LAYERS[index].w)


def test_filtered_stacks_have_filtered_layers() -> None:
    arrays, rest = eqx.partition(STACK, eqx.is_inexact_array)
    assert arrays[2].table is None
    np.testing.assert_array_equal(arrays[2].w, LAYERS[2].w)
    np.testing.assert_array_equal(rest[3].table, LAYERS[3].table)
    mask = jax.tree.map(lambda _: True, STACK)
    assert mask[1].w is True


def test_layers_of_a_stack_without_weights_have_their_own_shapes() -> None:
    abstract = eqx.filter_eval_shape(lambda: STACK)
    assert abstract[1].w.shape == (2,)
    assert [layer.table.shape for layer in abstract] == [(3,)] * 4


def test_the_repr_shows_how_many_layers_and_what_one_is() -> None:
    text = repr(STACK)
    assert text.startswith("ArrayStacked(4 x Block(")
    assert "w=f32[2]" in text.replace(" ", "")
    assert "gradient_checkpointing=True" in text
