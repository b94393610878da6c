"""A stack has the names of the list of layers that it stands for, and takes arrays by them: all of them or none."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given, settings

from scanify.nn import ArrayStacked, from_state_dict, to_state_dict

D = 3


class Attention(eqx.Module):
    weight: jax.Array
    heads: int = eqx.field(static=True)


class Block(eqx.Module):
    attn: Attention
    mlps: list[eqx.nn.Linear]
    table: np.ndarray
    key: jax.Array
    scale: jax.Array
    activation: Callable[..., Any]
    rate: float

    def __init__(self, key: Any) -> None:
        a, b, self.key = jr.split(key, 3)
        self.attn = Attention(jr.normal(a, (D, D), jnp.bfloat16), heads=2)
        self.mlps = [eqx.nn.Linear(D, D, key=k) for k in jr.split(b)]
        self.table = np.asarray(jr.uniform(b, (2,)), np.float64)
        self.scale = jr.normal(key)
        self.activation = jnp.tanh
        self.rate = 0.1


class Model(eqx.Module):
    embed: jax.Array
    layers: Any
    extra: dict[str, Any]


def blocks(count: int, seed: int = 0) -> list[Block]:
    return [Block(key) for key in jr.split(jr.key(seed), count)]


def models(count: int, seed: int = 0) -> tuple[Model, Model]:
    """The same model with a list of layers and with a stack of them."""
    layers = blocks(count, seed)
    embed, extra = jr.normal(jr.key(seed), (4, D)), {"norm": jnp.full((D,), float(seed)), "depth": count}
    return Model(embed, layers, extra), Model(embed, ArrayStacked.of(layers), extra)


NAMES = (
    "attn.weight mlps.0.weight mlps.0.bias mlps.1.weight mlps.1.bias table key scale".split()
)  # in the order of the fields


def same(one: Any, other: Any) -> None:
    """Same structure, and arrays of the same kind, dtype and bits."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert isinstance(a, np.ndarray) == isinstance(b, np.ndarray)
        same_array(a, b)


def same_array(a: Any, b: Any) -> None:
    if not eqx.is_array_like(a) or callable(a):
        assert a is b or a == b
        return
    if isinstance(a, jax.Array) and jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        assert a.dtype == b.dtype
        a, b = jr.key_data(a), jr.key_data(b)
    one, other = np.asarray(a), np.asarray(b)
    assert one.dtype == other.dtype and one.shape == other.shape
    assert one.tobytes() == other.tobytes()


def test_each_layer_of_a_stack_has_a_name_for_each_array() -> None:
    layers = blocks(3)
    named = to_state_dict(ArrayStacked.of(layers), "layers")
    assert list(named) == [f"layers.{index}.{name}" for index in range(3) for name in NAMES]
    for index, layer in enumerate(layers):
        same_array(named[f"layers.{index}.attn.weight"], layer.attn.weight)
        same_array(named[f"layers.{index}.mlps.1.bias"], layer.mlps[1].bias)
        same_array(named[f"layers.{index}.key"], layer.key)
        same_array(named[f"layers.{index}.scale"], layer.scale)


def test_without_a_prefix_names_begin_with_the_layer() -> None:
    assert next(iter(to_state_dict(ArrayStacked.of(blocks(2))))) == "0.attn.weight"


def test_a_model_with_a_stack_has_the_names_and_arrays_of_the_one_with_a_list() -> None:
    with_list, with_stack = models(11)
    one, other = to_state_dict(with_list, "model"), to_state_dict(with_stack, "model")
    assert list(one) == list(other)
    assert {"model.embed", "model.layers.10.attn.weight", "model.extra.norm"} < set(one)
    for name in one:
        same_array(one[name], other[name])


@pytest.mark.parametrize("stacked", [False, True])
@settings(max_examples=5, deadline=None)
@given(count=st.integers(1, 12), prefix=st.sampled_from(["", "layers", "model.layers"]))
def test_what_was_named_is_loaded_again(stacked: bool, count: int, prefix: str) -> None:
    here, there = ArrayStacked.of(blocks(count, 1)), ArrayStacked.of(blocks(count, 2))
    same(from_state_dict(here, to_state_dict(there, prefix, stacked=stacked), prefix, stacked=stacked), there)


def test_checkpoints_go_from_a_list_to_a_stack_and_back() -> None:
    (old_list, old_stack), (new_list, new_stack) = models(11, 1), models(11, 2)
    loaded = from_state_dict(old_stack, to_state_dict(new_list))
    same(loaded.layers, new_stack.layers)
    same(from_state_dict(old_list, to_state_dict(new_stack)), new_list)
    assert loaded.extra["depth"] == 11


def test_stacked_names_have_no_layer_and_arrays_of_all_layers() -> None:
    stack = ArrayStacked.of(blocks(3))
    named = to_state_dict(stack, "layers", stacked=True)
    assert list(named) == [f"layers.{name}" for name in NAMES]
    same_array(named["layers.mlps.0.weight"], stack.stacked.mlps[0].weight)


@pytest.mark.parametrize("stacked", [False, True])
def test_stacks_in_stacks_have_an_index_for_each(stacked: bool) -> None:
    class Group(eqx.Module):
        inner: ArrayStacked[Any]
        gain: jax.Array

    def groups(seed: int) -> ArrayStacked[Group]:
        parts = [Group(ArrayStacked.of(blocks(2, seed + one)), jnp.full((2,), one)) for one in range(3)]
        return ArrayStacked.of(parts)

    named = to_state_dict(groups(5), "groups", stacked=stacked)
    if stacked:
        assert named["groups.inner.attn.weight"].shape == (3, 2, D, D)
    else:
        same_array(named["groups.2.inner.1.attn.weight"], blocks(2, 7)[1].attn.weight)
    same(from_state_dict(groups(0), named, "groups", stacked=stacked), groups(5))


def test_a_model_of_shapes_is_filled_with_arrays_and_nothing_is_cast() -> None:
    def shape(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if eqx.is_array(leaf) else leaf

    stack = ArrayStacked.of(blocks(3, 1))
    filled = from_state_dict(jax.tree.map(shape, stack), to_state_dict(stack, "h"), "h")
    same(filled, stack)
    assert filled.stacked.table.dtype == np.float64


def test_arrays_come_from_numpy_and_go_where_the_old_ones_are() -> None:
    layers = [eqx.nn.Linear(D, D, key=key) for key in jr.split(jr.key(0), 2)]
    named = {name: np.asarray(value).tolist() for name, value in to_state_dict(layers).items()}
    stack = ArrayStacked.of(layers)
    with pytest.raises(ValueError, match=r"'0.weight': expected float32\[3,3\], got float64\[3,3\]"):
        from_state_dict(stack, named)
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(None, "x"))
    placed = jax.device_put(stack, sharding)
    loaded = from_state_dict(placed, {name: np.asarray(value, np.float32) for name, value in named.items()})
    same(loaded, stack)
    assert loaded.stacked.weight.sharding == sharding


def test_names_that_do_not_begin_with_the_prefix_are_of_no_concern() -> None:
    stack = ArrayStacked.of(blocks(2, 1))
    named = {**to_state_dict(stack, "layers"), "layers2.0.attn.weight": jnp.zeros(1), "head": jnp.zeros(2)}
    same(from_state_dict(ArrayStacked.of(blocks(2)), named, "layers"), stack)


def test_a_loaded_stack_computes_what_the_layers_it_came_from_compute() -> None:
    layers = [eqx.nn.Linear(D, D, key=key) for key in jr.split(jr.key(1), 5)]
    old = ArrayStacked.of([eqx.nn.Linear(D, D, key=key) for key in jr.split(jr.key(2), 5)])
    x = jnp.arange(1.0, D + 1)
    expected = x
    for layer in layers:
        expected = layer(expected)
    np.testing.assert_allclose(from_state_dict(old, to_state_dict(layers)).fold(x), expected, rtol=1e-6)


# -- wrong dictionaries -------------------------------------------------------------------------------------------------


def without(named: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name not in names}


def last_layer_only(named: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if name.startswith("layers.3.")}


WRONG: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "one name missing": (
        lambda named: without(named, "layers.2.attn.weight"),
        r"^1 of 32 names are missing: 'layers.2.attn.weight'$",
    ),
    "the last layer alone": (
        last_layer_only,
        r"^24 of 32 names are missing: 'layers.0.attn.weight', .* and 19 more$",
    ),
    "a layer too many": (
        lambda named: {**named, "layers.4.scale": jnp.zeros(())},
        r"^1 names are not of this model: 'layers.4.scale'$",
    ),
    "another field": (
        lambda named: {**without(named, "layers.0.scale"), "layers.0.gain": named["layers.0.scale"]},
        r"^1 of 32 names are missing: 'layers.0.scale'; 1 names are not of this model: 'layers.0.gain'$",
    ),
    "another shape": (
        lambda named: {**named, "layers.1.mlps.0.bias": jnp.zeros(4)},
        r"another shape or dtype than the model's: 'layers.1.mlps.0.bias': expected float32\[3\], got float32\[4\]$",
    ),
    "another dtype": (
        lambda named: {**named, "layers.1.attn.weight": jnp.zeros((D, D))},
        r"'layers.1.attn.weight': expected bfloat16\[3,3\], got float32\[3,3\]$",
    ),
    "a stacked array under the name of a layer": (
        lambda named: {**named, "layers.0.scale": jnp.zeros((4,))},
        r"'layers.0.scale': expected float32\[\], got float32\[4\]$",
    ),
    "nothing": (lambda named: {}, r"^32 of 32 names are missing"),
    "stacked names": (
        lambda named: to_state_dict(ArrayStacked.of(blocks(4)), "layers", stacked=True),
        r"not of this model: 'layers.attn.weight'.*\. These are names with stacked=True$",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_dictionary_is_refused_by_name(wrong: str) -> None:
    stack = ArrayStacked.of(blocks(4))
    spoil, message = WRONG[wrong]
    with pytest.raises(ValueError, match=message):
        from_state_dict(stack, spoil(to_state_dict(stack, "layers")), "layers")


def test_names_of_layers_for_a_stacked_form_are_refused() -> None:
    stack = ArrayStacked.of(blocks(2))
    with pytest.raises(ValueError, match=r"These are names with stacked=False$"):
        from_state_dict(stack, to_state_dict(stack), stacked=True)


def test_another_number_of_layers_is_refused_in_stacked_form() -> None:
    named = to_state_dict(ArrayStacked.of(blocks(3)), stacked=True)
    with pytest.raises(ValueError, match=r"'mlps.0.bias': expected float32\[4,3\], got float32\[3,3\].* and 3 more"):
        from_state_dict(ArrayStacked.of(blocks(4)), named, stacked=True)


def test_two_arrays_of_one_name_are_refused() -> None:
    tree = {"a.b": jnp.zeros(1), "a": {"b": jnp.zeros(2)}}
    with pytest.raises(ValueError, match=r"two arrays have the name 'a.b': float32\[2\] and float32\[1\]"):
        to_state_dict(tree)


def test_an_array_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a `prefix`"):
        to_state_dict(jnp.zeros(1))
    assert list(to_state_dict(jnp.zeros(1), "weight")) == ["weight"]


def test_a_stack_after_tree_surgery_is_refused() -> None:
    stack = eqx.tree_at(lambda s: s.stacked.attn.weight, ArrayStacked.of(blocks(3)), jnp.ones((D + 1, D)))
    with pytest.raises(ValueError, match=r"3 layers along axis 0; .attn.weight is float32\[4,3\]"):
        to_state_dict(stack)


def test_a_number_that_is_one_array_for_all_layers_is_refused_and_names_work_under_jit() -> None:
    stack = ArrayStacked.of(blocks(2))
    arrays, static = eqx.partition(stack, eqx.is_array)
    jitted = jax.jit(lambda arrays: to_state_dict(eqx.combine(arrays, static), "h"))(arrays)
    for name, value in to_state_dict(stack, "h").items():
        if name != "h.0.table" and name != "h.1.table":  # numpy's float64 is float32 under jit
            same_array(jitted[name], value)
    numbers = eqx.tree_at(lambda s: s.stacked.rate, stack, jnp.asarray(0.1))
    with pytest.raises(ValueError, match=r"2 layers along axis 0; .rate is float32\[\] \(weak\)"):
        to_state_dict(numbers)
