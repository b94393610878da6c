"""A sequence of layers in a program: state, arguments, results, sharing, tree surgery, and what is refused."""

import io
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq, ScanCheckpointPolicy, tree_checkpoint_name

D = 3


pytestmark = pytest.mark.usefixtures("float64")


class Layer(eqx.Module):
    weight: jax.Array
    tag: str = eqx.field(static=True, default="")

    def __call__(self, x: Any, *, add: Any = 0.0) -> Any:
        return jnp.sin(self.weight @ x) + add


def layers(count: int, period: int = 100) -> list[Any]:
    keys = jr.split(jr.key(0), count)
    made = [Layer(jr.normal(key, (D, D))) for key in keys]
    return [eqx.nn.Linear(D, D, key=key) if at % period == period - 1 else made[at] for at, key in enumerate(keys)]


X = np.linspace(-1, 1, D)


def same(got: Any, want: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


# -- a state in the carry --------------------------------------------------------------------------------------------


class Normed(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm

    def __init__(self, key: Any) -> None:
        self.linear = eqx.nn.Linear(D, D, key=key)
        self.norm = eqx.nn.BatchNorm(D, axis_name="batch", mode="batch")

    def __call__(self, x: Any, state: Any) -> Any:
        x, state = self.norm(self.linear(x), state)
        return jnp.tanh(x), state


class Net(eqx.Module):
    blocks: Any

    def __init__(self, make: Any, count: int) -> None:
        self.blocks = make([Normed(key) for key in jr.split(jr.key(0), count)])


def through(fold: Any) -> Any:
    batch = jr.normal(jr.key(5), (7, D))
    return lambda state: jax.vmap(fold, in_axes=(0, None), out_axes=(0, None), axis_name="batch")(batch, state)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_state_of_each_layer_is_its_own_and_comes_back_in_its_old_form(reverse: bool) -> None:
    loop_net, loop_state = eqx.nn.make_with_state(Net)(list, 5)
    net, state = eqx.nn.make_with_state(Net)(BlockSeq.of, 5)

    def fold(x: Any, state: Any) -> Any:
        return net.blocks.fold_via(lambda layer, carry: layer(*carry), reverse=reverse)((x, state))

    def loop(x: Any, state: Any) -> Any:
        for layer in loop_net.blocks[:: -1 if reverse else 1]:
            x, state = layer(x, state)
        return x, state

    assert net.blocks.describe_via(lambda layer, carry: carry)((X, state)).startswith("5 layers: 5 x Normed")
    got, want = through(fold)(state), through(loop)(loop_state)
    same(got[0], want[0])
    same(jax.tree.leaves(got[1]), jax.tree.leaves(want[1]))
    assert jax.tree.structure(got[1]) == jax.tree.structure(state)
    assert len(jax.tree.leaves(got[1])) == len(jax.tree.leaves(want[1])) > 5
    before, after = jax.tree.leaves(state), jax.tree.leaves(got[1])
    assert any(bool(jnp.any(one != other)) for one, other in zip(before, after, strict=True))


class Counter(eqx.Module):
    index: eqx.nn.StateIndex[Any]

    def __call__(self, carry: Any) -> Any:
        x, state = carry
        seen = state.get(self.index)
        return x * 2 + seen, state.set(self.index, seen + 1.0)


@pytest.mark.parametrize("order", ["aaaa", "aabbaab", "abcd"])
def test_layers_that_share_a_state_see_it_one_after_another(order: str) -> None:
    kinds = {name: Counter(eqx.nn.StateIndex(jnp.array(0.0))) for name in "abcd"}
    sequence = [kinds[name] for name in order]
    carry = (jnp.array(1.0), eqx.nn.State(sequence))
    got = BlockSeq.of(sequence).fold(carry)
    carry = (jnp.array(1.0), eqx.nn.State(sequence))
    for layer in sequence:
        carry = layer(carry)
    same(jax.tree.leaves(got), jax.tree.leaves(carry))


# -- sharing ---------------------------------------------------------------------------------------------------------


def gradients_are_those_of_the_list(sequence: list[Any]) -> None:
    """Each position has a gradient of its own, as each element of a list has, whatever objects they are."""

    def total(layers: Any) -> Any:
        x = X
        for layer in layers:
            x = layer(x)
        return jnp.sum(x)

    got = jax.grad(lambda blocks: jnp.sum(blocks.fold(X)))(BlockSeq.of(list(sequence)))
    same(got.unstacked(), tuple(jax.grad(total)(sequence)))


@pytest.mark.parametrize("order", ["aaaaaa", "abababab", "abba", "aabcaab"])
def test_a_layer_that_stands_twice_has_a_copy_at_each_position(order: str) -> None:
    kinds = dict(zip("abc", layers(3), strict=True))
    gradients_are_those_of_the_list([kinds[name] for name in order])


def test_one_layer_many_times_has_the_program_of_one() -> None:
    def lines(count: int) -> int:
        blocks = BlockSeq.of(layers(1) * count)
        return len(jax.jit(jax.grad(lambda b: jnp.sum(b.fold(X)))).lower(blocks).as_text().splitlines())

    assert lines(4) == lines(40)


class Two(eqx.Module):
    one: jax.Array
    other: jax.Array

    def __call__(self, x: Any) -> Any:
        return jnp.sin(self.one @ x) + self.other @ x


def test_an_array_that_layers_share_has_a_copy_in_each() -> None:
    shared, *owns = jr.normal(jr.key(0), (6, D, D))
    gradients_are_those_of_the_list([Two(own, shared) for own in owns])
    some = [Two(own, shared if at % 2 else own) for at, own in enumerate(owns)]
    gradients_are_those_of_the_list(some)


def test_an_array_may_have_another_place_in_each_layer() -> None:
    a, b, c = jr.normal(jr.key(0), (3, D, D))
    gradients_are_those_of_the_list([Two(a, b), Two(b, c)])


# -- arguments and results -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [3, 4, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_arguments_and_results_go_by_the_position_of_a_layer(period: int, reverse: bool) -> None:
    sequence = layers(12, period)
    per_layer = jr.normal(jr.key(2), (D, 12))
    listed = [np.full(D, at) for at in range(12)]

    def step(layer: Any, x: Any, by: Any, plus: Any, *, shared: Any) -> Any:
        y = layer(x) * by + plus + shared
        return y, {"sum": jnp.sum(y), "by": by}

    got = BlockSeq.of(sequence).scan_via(step, in_axes=((1, 0), {"shared": None}), reverse=reverse)(
        X, per_layer, listed, shared=0.5
    )
    x, ys = X, []
    for at in range(12)[:: -1 if reverse else 1]:
        x, y = step(sequence[at], x, per_layer[:, at], listed[at], shared=0.5)
        ys.append(y)
    ys = ys[:: -1 if reverse else 1]
    same(got, (x, jax.tree.map(lambda *ys: jnp.stack(ys), *ys)))


def test_a_list_may_hold_another_structure_for_each_layer() -> None:
    caches = [None if at % 2 else {"cache": np.full(at + 1, 2.0)} for at in range(4)]

    def step(layer: Any, x: Any, cache: Any) -> Any:
        return layer(x) if cache is None else layer(x) * jnp.sum(cache["cache"])

    sequence = layers(4)
    x = X
    for layer, cache in zip(sequence, caches, strict=True):
        x = step(layer, x, cache)
    same(BlockSeq.of(sequence).fold_via(step, in_axes=0)(X, caches), x)


@pytest.mark.parametrize("out_axes", [0, 1])
def test_a_map_over_layers_is_in_their_order(out_axes: int) -> None:
    sequence = layers(7, 3)
    xs = jr.normal(jr.key(1), (7, D))
    want = jnp.stack([layer(x) for layer, x in zip(sequence, xs, strict=True)], axis=out_axes)
    same(BlockSeq.of(sequence).vmap_via(lambda layer, x: layer(x), in_axes=0, out_axes=out_axes)(xs), want)


def test_a_sequence_of_layers_may_be_an_argument() -> None:
    sequence, norms = layers(5), layers(5)
    want = X
    for layer, norm in zip(sequence, norms, strict=True):
        want = norm(layer(want))
    for stack in (ArrayStacked.of(norms), BlockSeq.of(norms), norms):
        got = BlockSeq.of(sequence).fold_via(lambda layer, x, norm: norm(layer(x)), in_axes=0)(X, stack)
        same(got, want)


# -- a pytree and a sequence -----------------------------------------------------------------------------------------


def test_it_is_the_list_it_stands_for() -> None:
    sequence = layers(7, 3)
    blocks = BlockSeq.of(sequence)
    assert len(blocks) == 7
    for got, want in (
        (list(blocks), sequence),
        (blocks[1:5:2], sequence[1:5:2]),
        (list(reversed(blocks)), sequence[::-1]),
        ([blocks[-1], blocks.get_layer(2)], [sequence[-1], sequence[2]]),
    ):
        assert jax.tree.structure(got) == jax.tree.structure(want)
        same(got, want)
    with pytest.raises(IndexError, match="layer 7 is out of range: there are 7 layers"):
        blocks[7]


def test_it_goes_through_jit_partition_shapes_files_and_surgery() -> None:
    blocks = BlockSeq.of(layers(7, 3))
    params, static = eqx.partition(blocks, eqx.is_inexact_array)
    want = blocks.fold(X)
    same(jax.jit(lambda params: eqx.combine(params, static).fold(X))(params), want)
    same(jax.jit(lambda blocks: blocks.fold(X))(blocks), want)
    shapes = eqx.filter_eval_shape(lambda: BlockSeq.of(layers(7, 3)))
    assert shapes[0].weight.shape == (D, D)
    assert eqx.filter_eval_shape(lambda blocks: blocks.fold(X), shapes).shape == want.shape
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, blocks)
    file.seek(0)
    same(eqx.tree_deserialise_leaves(file, shapes).fold(X), want)
    doubled = eqx.tree_at(lambda blocks: blocks.stacks[0].weight, blocks, replace_fn=lambda weight: weight * 2)
    same(doubled[0].weight, blocks[0].weight * 2)
    cut = eqx.tree_at(lambda blocks: blocks.stacks[0].weight, blocks, replace_fn=lambda weight: weight[1:])
    with pytest.raises(ValueError, match=r"expected an array with 5 layers along axis 0 at \.stacks\[0\]\.weight"):
        cut.fold(X)


def test_python_numbers_that_jit_makes_arrays_are_each_layer_s_own() -> None:
    class Scale(eqx.Module):
        by: float

        def __call__(self, x: Any) -> Any:
            return jnp.sin(x) * self.by

    sequence = [Scale(0.5 + at) for at in range(5)]
    want = X
    for layer in sequence:
        want = layer(want)
    blocks = BlockSeq.of(sequence)
    same(blocks.fold(X), want)
    same(jax.jit(lambda blocks: blocks.fold(X))(blocks), want)


def test_layers_may_be_functions_tuples_lists_and_dicts() -> None:
    def scale(at: int) -> Any:
        return lambda x: x * at  # another object for each layer, and a number that differs

    def apply(layer: Any, x: Any) -> Any:
        (first, then), rest = layer["pair"], layer["rest"]
        return rest[0](then(first(x)))

    sequence = [{"rest": [scale(at)], "pair": (layer, jnp.tanh)} for at, layer in enumerate(layers(5), 1)]
    want = X
    for one in sequence:
        want = apply(one, want)
    blocks = BlockSeq.of(sequence)  # type: ignore[type-var]
    same(blocks.fold_via(apply)(X), want)
    assert blocks.describe_via(apply)(X) == "5 layers: 5 x dict"
    assert [type(one) for one in (blocks[0], blocks[0]["pair"], blocks[0]["rest"])] == [dict, tuple, list]
    alternate = BlockSeq.of([one for layer in layers(3) for one in (layer, jnp.sin)])  # type: ignore[type-var]
    assert alternate.describe_via(lambda layer, x: layer(x))(X).startswith("6 layers: 3 x (Layer + ")


# -- refusals and warnings -------------------------------------------------------------------------------------------


def test_what_cannot_be_a_sequence_of_layers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"layer 1 is of type builtins\.str"):
        BlockSeq.of([Layer(jnp.ones((D, D))), "gelu"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="expected a remat policy"):
        BlockSeq.of(layers(2), gradient_checkpointing="some")


def test_what_cannot_be_stacked_or_taken_apart_is_refused() -> None:
    blocks = BlockSeq.of(layers(3))
    with pytest.raises(ValueError, match="those of layers 0 and 1 differ at the value itself: "):
        blocks.scan_via(lambda layer, x, n: (x, jnp.ones(len(n["n"]))), in_axes=0)(
            X, [{"n": np.ones(at)} for at in (1, 2, 3)]
        )
    with pytest.raises(ValueError, match="expected one element for each of the 3 layers, got 2"):
        blocks.fold_via(lambda layer, x, y: x, in_axes=0)(X, [1, 2])
    with pytest.raises(ValueError, match="expected 3 layers along axis 0, got 4"):
        blocks.fold_via(lambda layer, x, y: x, in_axes=0)(X, np.ones(4))
    with pytest.raises(TypeError, match=r"expected a layer to give a pair \(carry, y\)"):
        blocks.scan(X)


def test_a_policy_may_name_what_some_layers_name_and_no_other() -> None:
    def step(layer: Any, x: Any) -> Any:
        y = layer(x)
        return tree_checkpoint_name(y, "linear") if isinstance(layer, eqx.nn.Linear) else y

    for name, known in (("linear", True), ("attention", False)):
        policy = ScanCheckpointPolicy(save_block_internals=(name,))
        blocks = BlockSeq.of(layers(8, 2) + layers(4), gradient_checkpointing=policy)
        if known:
            blocks.fold_via(step)(X)
            continue
        with pytest.warns(UserWarning, match="names 'attention', which nothing in the layers is called"):
            blocks.fold_via(step)(X)


def test_a_place_without_a_layer() -> None:
    layers = [jnp.sin, None, jnp.cos, None]
    sequence = BlockSeq.of(layers)
    assert list(sequence) == layers
    found = sequence.fold_via(lambda layer, x: x * 2 if layer is None else layer(x))(jnp.ones(2))
    np.testing.assert_array_equal(found, jnp.cos(jnp.sin(jnp.ones(2)) * 2) * 2)
