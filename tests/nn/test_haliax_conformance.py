"""`scanify.nn.ArrayStacked` and the class it is modelled on, `haliax.nn.ArrayStacked`, under the same tests.

What haliax does wrong is in `test_haliax_differences.py`. haliax is the dependency group `haliax`; without it the tests
run on ours alone.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import scanify.nn as snn
from scanify.verify.proof.prove import prove
from tests.nn.side_by_side import (
    MASKS,
    POLICIES,
    SHIFTS,
    Block,
    D,
    Giver,
    Mixer,
    N,
    X,
    assert_close,
    haliax,
    implementation,
    loop,
    mixers,
    needs_haliax,
    ours,
    theirs,
)


@pytest.fixture(params=["ours", pytest.param("haliax", marks=needs_haliax)])
def both(request: pytest.FixtureRequest) -> SimpleNamespace:
    return implementation(request.param)


def test_the_example_of_the_page_on_initialization_and_fold(both: Any) -> None:
    weight = jr.normal(jr.PRNGKey(0), (N, 8))
    stack = both.ArrayStacked.init(N, Block)(weight=weight)
    scale, mask = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.ones((16, 16))
    carry = stack.fold_via(Block.__call__, in_axes=(0, None))(jnp.zeros(8), scale, mask)
    assert_close(carry, loop(list(weight), jnp.zeros(8), lambda w, x, i: x + w * scale[i] + 256))


def test_the_example_of_the_page_on_scan(both: Any) -> None:
    def block_scan(layer: Block, carry: Any, x: Any) -> Any:
        carry = carry + layer.weight * x
        return carry, carry

    weight = jr.normal(jr.PRNGKey(0), (N, 8))
    stack = both.ArrayStacked.init(N, Block)(weight=weight)
    carry, per_layer = stack.scan_via(block_scan, in_axes=0)(jnp.zeros(8), jnp.ones((N, 8)))
    assert_close((carry, per_layer), (weight.sum(0), jnp.cumsum(weight, 0)))


@pytest.mark.whole
def test_init_with_a_key_for_each_layer_builds_the_layers_of_the_loop(both: Any) -> None:
    keys = jr.split(jr.key(3), N)
    stack = both.ArrayStacked.init(N, Mixer, gradient_checkpointing=True)(key=keys)
    assert stack.num_layers == N and stack.stacked.linear.weight.shape == (N, D, D)
    assert_close(list(stack.unstacked()), [Mixer.init(key=key) for key in keys])


class Scaled(eqx.Module):
    """The block of haliax's page on Stacked: a configuration for all layers, a number and a key for each."""

    mixer: Mixer
    scale: jax.Array
    width: int = eqx.field(static=True)

    @staticmethod
    def init(config: dict[str, int], *, scale: Any, key: Any) -> "Scaled":
        return Scaled(Mixer.init(key=key), scale, config["width"])

    def __call__(self, x: Any) -> Any:
        return x + self.scale * self.mixer(x) / self.width


def test_the_example_of_the_page_on_stacked(both: Any) -> None:
    config, scale, keys = {"width": D}, jnp.arange(float(N)), jr.split(jr.key(4), N)
    blocks = both.ArrayStacked.init(N, Scaled)(config, scale=scale, key=keys)
    layers = [Scaled.init(config, scale=scale[i], key=keys[i]) for i in range(N)]
    assert blocks.stacked.width == D
    assert_close(blocks.fold(X), loop(layers, X, lambda layer, x, i: layer(x)))
    assert_close(blocks.vmap_via(Scaled.__call__)(X), jnp.stack([layer(X) for layer in layers]))


def test_a_fold_shares_its_arguments(both: Any) -> None:
    mask = jnp.linspace(0, 1, D)
    mine = both.stack(mixers()).fold(X, mask, shift=0.5)
    assert_close(mine, loop(mixers(), X, lambda layer, x, i: layer(x, mask, shift=0.5)))


FORMS: dict[str, tuple[Any, Any, Any, Callable[[int], Any], Callable[[int], Any]]] = {
    "none": (None, MASKS[0], SHIFTS[1], lambda i: MASKS[0], lambda i: SHIFTS[1]),
    "a tuple": ((0,), MASKS, SHIFTS[1], lambda i: MASKS[i], lambda i: SHIFTS[1]),
    "a tuple of none": ((None,), MASKS[0], SHIFTS[1], lambda i: MASKS[0], lambda i: SHIFTS[1]),
    "axis 1": ((1,), MASKS.T, SHIFTS[1], lambda i: MASKS[i], lambda i: SHIFTS[1]),
    "the last axis": ((-1,), MASKS.T, SHIFTS[1], lambda i: MASKS[i], lambda i: SHIFTS[1]),
    "a pair": (((0,), {"shift": 0}), MASKS, SHIFTS, lambda i: MASKS[i], lambda i: SHIFTS[i]),
    "a pair that shares": (((None,), {"shift": 0}), MASKS[0], SHIFTS, lambda i: MASKS[0], lambda i: SHIFTS[i]),
    "a pair with one axis": ((0, {"shift": None}), MASKS, SHIFTS[1], lambda i: MASKS[i], lambda i: SHIFTS[1]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_in_axes_takes_apart_what_it_says(both: Any, form: str) -> None:
    in_axes, mask, shift, mask_of, shift_of = FORMS[form]

    def each(layer: Any, x: Any, i: int) -> Any:
        return layer(x, mask_of(i), shift=shift_of(i))

    stack = both.stack(mixers())
    folded = stack.fold_via(Mixer.__call__, in_axes=in_axes)(X, mask, shift=shift)
    assert_close(folded, loop(mixers(), X, each))
    scanned, ys = stack.scan_via(lambda layer, x, m, *, shift: (layer(x, m, shift=shift), x), in_axes=in_axes)(
        X, mask, shift=shift
    )
    assert_close(scanned, folded)
    assert_close(ys[-1], loop(mixers()[:-1], X, each))
    mapped = stack.vmap_via(lambda layer, m, *, shift: layer(X, m, shift=shift), in_axes=in_axes)(mask, shift=shift)
    assert_close(mapped, jnp.stack([each(layer, X, i) for i, layer in enumerate(mixers())]))


@pytest.mark.parametrize(
    ("in_axes", "mask"),
    [((0,), jnp.ones((N + 1, D))), ((2,), jnp.ones((N, D))), ((0, 0), jnp.ones((N, D)))],
    ids=["length", "axis", "count"],
)
def test_axes_that_do_not_fit_are_refused(both: Any, in_axes: Any, mask: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"in_axes|axis"):
        both.stack(mixers()).fold_via(Mixer.__call__, in_axes=in_axes)(X, mask)


def test_a_scan_stacks_what_each_layer_gives(both: Any) -> None:
    carry, ys = both.stack(mixers(kind=Giver)).scan(X, MASKS[1])
    x, given = X, []
    for layer in mixers(kind=Giver):
        x, y = layer(x, MASKS[1])
        given.append(y)
    assert_close((carry, ys), (x, jax.tree.map(lambda *parts: jnp.stack(parts), *given)))


def test_a_carry_may_be_a_pytree(both: Any) -> None:
    def each(layer: Any, carry: Any) -> Any:
        return {"x": layer(carry["x"]), "all": (carry["all"][0] + carry["x"].sum(),)}

    start = {"x": X, "all": (jnp.zeros(()),)}
    assert_close(both.stack(mixers()).fold_via(each)(start), loop(mixers(), start, lambda layer, x, i: each(layer, x)))


@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_a_vmap_puts_the_layers_along_the_axis_asked_for(both: Any, out_axes: int) -> None:
    mine = both.stack(mixers()).vmap_via(Mixer.__call__, in_axes=None, out_axes=out_axes)(X)
    assert_close(mine, jnp.stack([layer(X) for layer in mixers()], axis=out_axes))


def test_layers_are_given_back_one_by_one_and_together(both: Any) -> None:
    stack, layers = both.stack(mixers()), mixers()
    assert all(isinstance(layer, Mixer) for layer in stack.unstacked())
    assert_close(list(stack.unstacked()), layers)
    for index in (0, 2, N - 1, -1):
        assert_close(stack.get_layer(index), layers[index])
    traced = jax.jit(lambda index: stack.get_layer(index).gain)(2)
    assert_close(traced, layers[2].gain)


@pytest.mark.parametrize("unroll", [None, 1, 2, N, True])
def test_unrolling_changes_nothing(both: Any, unroll: Any) -> None:
    stack = both.stack(mixers())
    expected = loop(mixers(), X, lambda layer, x, i: layer(x, MASKS[i]))
    assert_close(stack.fold_via(Mixer.__call__, in_axes=(0,), unroll=unroll)(X, MASKS), expected)
    shared = loop(mixers(), X, lambda layer, x, i: layer(x, MASKS[1]))
    assert_close(stack.scan_via(lambda layer, x, m: (layer(x, m), None), unroll=unroll)(X, MASKS[1])[0], shared)


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_under_every_policy_are_those_of_the_loop(both: Any, policy: str) -> None:
    def each(layer: Any, x: Any, mask: Any) -> Any:
        y = both.name(jnp.sin(layer.linear(x)), "y")
        return x + both.name(jnp.cos(y) * layer.gain, "z") * mask

    def total(layers: list[Any], x: Any) -> Any:
        return each_loss(both.stack(layers, POLICIES[policy](both.Policy)).fold_via(each, in_axes=(0,))(x, MASKS))

    mine = jax.jit(jax.value_and_grad(total, (0, 1)))(mixers(), X)
    assert_close(mine, loop_gradient())


def each_loss(x: Any) -> Any:
    return (jnp.cos(x) + x).sum()


@functools.cache
def loop_gradient() -> Any:
    def each(layer: Any, x: Any, i: int) -> Any:
        return x + jnp.cos(jnp.sin(layer.linear(x))) * layer.gain * MASKS[i]

    return jax.jit(jax.value_and_grad(lambda layers, x: each_loss(loop(layers, x, each)), (0, 1)))(mixers(), X)


def test_gradients_of_a_stack_have_its_structure(both: Any) -> None:
    stack = both.stack(mixers(), True)
    grads = eqx.filter_jit(eqx.filter_grad(lambda stack: stack.fold(X).sum()))(stack)
    expected = jax.grad(lambda layers: loop(layers, X, lambda layer, x, i: layer(x)).sum())(mixers())
    assert jax.tree.structure(grads) == jax.tree.structure(stack)
    assert_close(grads.stacked, jax.tree.map(lambda *parts: jnp.stack(parts), *expected))


@needs_haliax
def test_names_of_the_arrays_are_those_of_haliax() -> None:
    named = haliax().state_dict.to_state_dict(theirs(mixers()), "layers")
    mine = snn.to_state_dict(ours(mixers()), "layers")
    assert sorted(mine) == sorted(named) and len(mine) == 3 * N
    for name, value in mine.items():
        assert_close(value, named[name])
    assert_close(snn.from_state_dict(ours(mixers()[::-1]), named, "layers"), ours(mixers()))


def test_fold_scan_and_map_take_the_first_axis_apart(both: Any) -> None:
    xs = jr.normal(jr.key(5), (6, D))

    def step(carry: Any, x: Any) -> Any:
        carry = jnp.sin(carry) + x
        return carry, carry * 2

    carry, ys = both.scan(step)(X, xs)
    expected, given = X, []
    for x in xs:
        expected, y = step(expected, x)
        given.append(y)
    assert_close((carry, ys), (expected, jnp.stack(given)))
    assert_close(both.fold(lambda c, x: step(c, x)[0])(X, xs), expected)
    assert_close(both.map(jnp.sin)(xs), jnp.sin(xs))


# -- proved, not only compared ------------------------------------------------------------------------------------------


PROVED = ["False", "True", "full", "nested", "save_all", "two chunks", "names", "no carries"]


@pytest.mark.parametrize("policy", PROVED)
def test_the_prover_shows_outputs_and_gradients_equal_to_those_of_the_loop(both: Any, policy: str) -> None:
    """haliax indexes the parameters in the body of its scan, so their cotangents are scattered and summed."""

    def folded(layers: list[Any], x: Any, masks: Any) -> Any:
        return both.stack(layers, POLICIES[policy](both.Policy)).fold_via(named, in_axes=(0,))(x, masks)

    def named(layer: Any, x: Any, mask: Any) -> Any:
        return both.name(layer(x, mask), "y")

    def looped(layers: list[Any], x: Any, masks: Any) -> Any:
        return loop(layers, x, lambda layer, x, i: named(layer, x, masks[i]))

    def pulled(run: Callable[..., Any]) -> Any:
        return jax.make_jaxpr(lambda layers, x, masks, ct: jax.vjp(run, layers, x, masks)[1](ct))(mixers(), X, MASKS, X)

    outputs = prove(jax.make_jaxpr(looped)(mixers(), X, MASKS), jax.make_jaxpr(folded)(mixers(), X, MASKS))
    assert outputs.proved and all(outputs.avals_equal)
    gradients = prove(pulled(looped), pulled(folded), cotangents=1)
    assert gradients.proved, (gradients.difference, gradients.not_understood)
    assert len(gradients.equal) == 3 * N + 2 and all(gradients.avals_equal)


@needs_haliax
def test_the_prover_does_not_take_the_gradients_of_another_order_for_those_of_the_loop() -> None:
    def pulled(run: Callable[..., Any]) -> Any:
        return jax.make_jaxpr(lambda layers, ct: jax.vjp(run, layers)[1](ct))(mixers(), X)

    looped = pulled(lambda layers: loop(layers, X, lambda layer, x, i: layer(x)))
    assert prove(looped, pulled(lambda layers: theirs(layers).fold(X)), cotangents=1).proved
    assert not prove(looped, pulled(lambda layers: theirs(layers[::-1]).fold(X)), cotangents=1).proved
