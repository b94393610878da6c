"""A sequence of unequal layers has the names of the list of layers that it stands for, and takes arrays by them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, from_state_dict, to_state_dict

D = 3


class Wide(eqx.Module):
    up: eqx.nn.Linear
    down: jax.Array

    def __init__(self, key: Any) -> None:
        self.up, self.down = eqx.nn.Linear(D, 2 * D, key=key), jr.normal(key, (D, 2 * D))

    def __call__(self, x: Any) -> Any:
        return self.down @ self.up(x)


def mixed(seed: int = 0) -> list[Any]:
    """Two kinds of layers, in turns."""
    keys = jr.split(jr.key(seed), 6)
    return [Wide(key) if at % 3 == 2 else eqx.nn.Linear(D, D, key=key) for at, key in enumerate(keys)]


def equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert list(one) == list(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name])


@pytest.mark.parametrize("stacked", [False, True])
def test_the_names_are_those_of_the_list(stacked: bool) -> None:
    names = to_state_dict({"layers": BlockSeq.of(mixed())}, stacked=stacked)
    equal(names, to_state_dict({"layers": mixed()}))
    assert "layers.2.up.weight" in names and names["layers.5.down"].shape == (D, 2 * D)


def test_what_was_named_is_loaded_again_and_goes_to_a_list_and_back() -> None:
    kept, other = BlockSeq.of(mixed()), BlockSeq.of(mixed(1))
    loaded = from_state_dict(other, to_state_dict(mixed(), "layers"), "layers")
    assert eqx.tree_equal(loaded, kept)
    listed = from_state_dict(mixed(1), to_state_dict(kept))
    assert eqx.tree_equal(listed, mixed())
    x = jnp.ones(D)
    np.testing.assert_array_equal(loaded.fold(x), kept.fold(x))


def test_a_model_of_shapes_is_filled() -> None:
    shapes = eqx.filter_eval_shape(lambda: BlockSeq.of(mixed()))
    assert eqx.tree_equal(from_state_dict(shapes, to_state_dict(mixed())), BlockSeq.of(mixed()))


def test_a_stack_among_the_layers_has_an_index_for_each_of_its_own() -> None:
    inner = ArrayStacked.of([eqx.nn.Linear(D, D, key=key) for key in jr.split(jr.key(0), 2)])

    class Group(eqx.Module):
        inner: Any

    names = to_state_dict(BlockSeq.of([Group(inner)]))
    assert list(names) == [f"0.inner.{at}.{part}" for at in range(2) for part in ("weight", "bias")]


def twice() -> BlockSeq[Any]:
    """A layer that stands at positions 0 and 2."""
    one, other = (eqx.nn.Linear(D, D, key=key) for key in jr.split(jr.key(0)))
    return BlockSeq.of([one, other]).take([0, 1, 0])


def test_a_layer_that_stands_twice_stays_one() -> None:
    names = to_state_dict(twice())
    assert len(names) == 6
    doubled = {name: 2 * array for name, array in names.items()}
    loaded = from_state_dict(twice(), doubled)
    assert loaded.order == (0, 1, 0)
    equal(to_state_dict(loaded), doubled)


def test_a_layer_that_stands_twice_is_not_given_two_values() -> None:
    names = to_state_dict(twice())
    with pytest.raises(
        ValueError, match=r"positions 0 and 2 hold one layer, and were given two arrays that differ at \.weight"
    ):
        from_state_dict(twice(), {**names, "2.weight": names["2.weight"] + 1})


def test_a_sequence_within_a_stack_has_no_stacked_form() -> None:
    class Group(eqx.Module):
        inner: Any

    stack = ArrayStacked.of([Group(BlockSeq.of([eqx.nn.Linear(D, D, key=key)])) for key in jr.split(jr.key(0), 2)])
    with pytest.raises(
        ValueError, match=r"a BlockSeq in a stack has no stacked form: layers\.inner; use stacked=False"
    ):
        to_state_dict(stack, "layers", stacked=True)
