"""A stack computes what the Python loop over its layers computes: values, gradients and tangents, under every policy."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, ScanCheckpointPolicy, remat_policy_override

POLICIES: dict[str, Any] = {
    "no remat": False,
    "full": True,
    "nested": "nested",
    "two chunks": ScanCheckpointPolicy(nested=2),
    "chunks that keep internals": ScanCheckpointPolicy(nested=3, save_block_internals=True),
    "dots": "dots",
    "dots in chunks": ScanCheckpointPolicy(nested=True, save_dots=True),
    "offload": "offload",
    "dots and offloaded carries": ScanCheckpointPolicy(save_carries="offload", save_dots=True),
    "save_all": "save_all",
    "no carries": ScanCheckpointPolicy(save_carries=False),
    "against common subexpressions": ScanCheckpointPolicy(prevent_cse=True),
}
COUNTS = (1, 2, 3, 4, 7, 47)
D = 3


class Block(eqx.Module):
    linear: eqx.nn.Linear
    out: jax.Array
    scale: jax.Array
    table: np.ndarray
    activation: Callable[..., Any]
    eps: float
    nothing: None
    name: str = eqx.field(static=True)

    def __init__(self, *, key: Any) -> None:
        a, b, c = jr.split(key, 3)
        self.linear = eqx.nn.Linear(D, 2 * D, key=a)
        self.out = jr.normal(b, (D, 2 * D))
        self.scale = 1 + jr.normal(c)
        self.table = np.arange(D)
        self.activation = jnp.tanh
        self.eps = 0.25
        self.nothing = None
        self.name = "block"

    def __call__(self, x: Any, mask: Any = None, *, key: Any = None) -> Any:
        y = self.out @ self.activation(self.linear(x)) * self.scale + self.eps * jnp.sin(x)
        y = y + 0.01 * self.table
        if key is not None:
            y = jnp.where(jr.bernoulli(key, 0.5, y.shape), y, 0)
        return x + (y if mask is None else y * mask)


pytestmark = pytest.mark.usefixtures("float64")


def blocks(count: int) -> list[Block]:
    return [Block(key=jr.key(seed)) for seed in range(count)]


def stacked_leaves(tree: Any) -> list[Any]:
    """The leaves of a list of layers' gradients, stacked as those of a stack are."""
    return jax.tree.leaves(jax.tree.map(lambda *leaves: np.stack(leaves), *tree))


def assert_close(one: Any, other: Any) -> None:
    mine, theirs = jax.tree.leaves(one), jax.tree.leaves(other)
    assert len(mine) == len(theirs) > 0
    for a, b in zip(mine, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * float(jnp.max(jnp.abs(jnp.asarray(b)), initial=0.0)))


def loop(layers: Any, x: Any, mask: Any, keys: Any) -> Any:
    for layer, key in zip(layers, keys, strict=True):
        x = layer(x, mask, key=key)
    return x


def fold(stack: Any, x: Any, mask: Any, keys: Any) -> Any:
    return stack.fold_via(Block.__call__, in_axes=((None,), {"key": 0}))(x, mask, key=keys)


def value_and_grads(run: Callable[..., Any], layers: Any, x: Any, mask: Any, keys: Any, jit: Any = jax.jit) -> Any:
    """Output, and the cotangents of the layers' parameters, of the carry and of what all layers share."""
    parameters, static = eqx.partition(layers, eqx.is_inexact_array)

    @jit
    def both(parameters: Any, x: Any, mask: Any) -> Any:
        out, pull = jax.vjp(lambda p, x, m: run(eqx.combine(p, static), x, m, keys), parameters, x, mask)
        return out, *pull(jnp.cos(out) + 2)

    return both(parameters, x, mask)


_TRUTH: dict[int, Any] = {}


def truth(count: int) -> Any:
    if count not in _TRUTH:
        x, mask, keys = jnp.arange(1.0, D + 1), jnp.linspace(0, 1, D), list(jr.split(jr.key(1), count))
        jit = jax.jit if count < 10 else lambda run: run  # compiling 47 layers takes longer than running them
        out, layers, x, mask = value_and_grads(loop, blocks(count), x, mask, keys, jit)
        _TRUTH[count] = out, stacked_leaves(layers), x, mask
    return _TRUTH[count]


def pairs() -> list[tuple[str, int]]:
    """Every count with the policies that shape the loop, fewer with those that change what a layer keeps."""
    counts: dict[str, tuple[int, ...]] = dict.fromkeys(POLICIES, (7,))
    counts |= dict.fromkeys(("dots", "offload", "save_all"), (1, 4, 7))
    counts |= dict.fromkeys(("no remat", "full", "nested"), COUNTS)
    return [(policy, count) for policy in POLICIES for count in counts[policy]]


@pytest.mark.parametrize(("policy", "count"), pairs())
def test_values_and_gradients_are_those_of_the_loop(policy: str, count: int) -> None:
    stack = ArrayStacked.of(blocks(count), gradient_checkpointing=POLICIES[policy])
    x, mask, keys = jnp.arange(1.0, D + 1), jnp.linspace(0, 1, D), jr.split(jr.key(1), count)
    assert_close(value_and_grads(fold, stack, x, mask, keys), truth(count))


@pytest.mark.parametrize(
    ("count", "chunks"), [(2, 2), (3, 2), (4, 3), (6, 3), (7, 3), (7, 6), (7, 7), (7, 100), (47, 7), (61, 8), (61, 60)]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_chunks_of_any_number_and_a_shorter_last_one_are_in_order(count: int, chunks: int, reverse: bool) -> None:
    layers = [Numbered(jnp.float64(1 + (i % 7) / 8), 0.5) for i in range(count)]
    policy, x = ScanCheckpointPolicy(nested=chunks), jnp.arange(1.0, 4)

    def step(layer: Any, x: Any) -> Any:
        return layer(x), x

    def stacked(weights: Any, x: Any) -> Any:
        stack = ArrayStacked(Numbered(weights, 0.5), count, policy)
        out, ys = stack.scan_via(step, reverse=reverse)(x)
        return jnp.sum(out**2), ys

    def looped(weights: Any, x: Any) -> Any:
        ys: list[Any] = [None] * count
        for index in reversed(range(count)) if reverse else range(count):
            x, ys[index] = step(Numbered(weights[index], 0.5), x)
        return jnp.sum(x**2), jnp.stack(ys)

    weights = jnp.stack([layer.w for layer in layers])
    mine = jax.value_and_grad(stacked, argnums=(0, 1), has_aux=True)(weights, x)
    assert_close(mine, jax.value_and_grad(looped, argnums=(0, 1), has_aux=True)(weights, x))


@pytest.mark.parametrize("policy", ["no remat", "full", "nested", "dots"])
def test_tangents_are_those_of_the_loop(policy: str) -> None:
    layers, x, mask, keys = blocks(7), jnp.arange(1.0, D + 1), jnp.linspace(0, 1, D), jr.split(jr.key(1), 7)
    stack = ArrayStacked.of(layers, gradient_checkpointing=POLICIES[policy])

    def tangent(run: Any, layers: Any, keys: Any) -> Any:
        arrays, static = eqx.partition(layers, eqx.is_inexact_array)
        along = jax.tree.map(jnp.sin, arrays)
        return jax.jvp(lambda p, x: run(eqx.combine(p, static), x, mask, keys), (arrays, x), (along, jnp.cos(x)))

    assert_close(tangent(fold, stack, keys), tangent(loop, layers, list(keys)))


@pytest.mark.parametrize("policy", ["no remat", "full", "nested", "offload"])
@pytest.mark.whole
def test_gradients_through_gradients_are_those_of_the_loop(policy: str) -> None:
    layers, x, keys = blocks(3), jnp.arange(1.0, D + 1), jr.split(jr.key(1), 3)
    stack = ArrayStacked.of(layers, gradient_checkpointing=POLICIES[policy])
    mine = jax.jit(jax.hessian(lambda x: fold(stack, x, None, keys).sum()))(x)
    separate = list(keys)
    assert_close(mine, jax.jit(jax.hessian(lambda x: loop(layers, x, None, separate).sum()))(x))
    assert float(jnp.abs(mine).max()) > 0.01


@pytest.mark.parametrize("transform", ["eager", "jit", "filter_jit", "vmap", "disable_jit", "checkpoint"])
def test_the_value_is_that_of_the_loop_under(transform: str) -> None:
    layers, x = blocks(4), jnp.arange(1.0, D + 1)
    stack = ArrayStacked.of(layers, gradient_checkpointing="nested")
    expected = loop(layers, x, None, [None] * 4)
    if transform == "eager":
        got = stack.fold(x)
    elif transform == "jit":
        got = jax.jit(lambda x: stack.fold(x))(x)
    elif transform == "filter_jit":
        got = eqx.filter_jit(lambda stack, x: stack.fold(x))(stack, x)
    elif transform == "vmap":
        got = jax.vmap(stack.fold)(jnp.stack([x, 2 * x]))[0]
    elif transform == "disable_jit":
        with jax.disable_jit():
            got = stack.fold(x)
    else:
        got = jax.checkpoint(lambda x: stack.fold(x))(x)
    assert_close(got, expected)


@pytest.mark.whole
def test_an_ensemble_of_stacks_is_built_and_applied_under_vmap() -> None:
    def build(key: Any) -> Any:
        return ArrayStacked.of([Block(key=one) for one in jr.split(key, 3)])

    keys, x = jr.split(jr.key(5), 2), jnp.arange(1.0, D + 1)
    ensemble = eqx.filter_vmap(build)(keys)
    got = eqx.filter_vmap(lambda stack, x: stack.fold(x), in_axes=(eqx.if_array(0), None))(ensemble, x)
    expected = [loop([Block(key=one) for one in jr.split(key, 3)], x, None, [None] * 3) for key in keys]
    assert_close(got, np.stack(expected))


def test_a_plain_jit_of_a_stack_with_numbers_keeps_them_numbers_of_all_layers() -> None:
    layers = [Numbered(jnp.float64(i + 1.0), 0.5) for i in range(3)]
    x = jnp.arange(1.0, 4)
    assert_close(jax.jit(lambda stack, x: stack.fold(x))(ArrayStacked.of(layers), x), loop_plain(layers, x))


class Numbered(eqx.Module):
    w: jax.Array
    p: float

    def __call__(self, x: Any) -> Any:
        return x * self.w + self.p


def loop_plain(layers: Any, carry: Any) -> Any:
    for layer in layers:
        carry = layer(carry)
    return carry


def test_a_stack_is_traced_without_weights() -> None:
    abstract = eqx.filter_eval_shape(lambda: ArrayStacked.of([Block(key=key) for key in jr.split(jr.key(0), 5)]))
    out = eqx.filter_eval_shape(lambda stack, x: stack.fold(x), abstract, jax.ShapeDtypeStruct((D,), jnp.float64))
    assert (out.shape, out.dtype) == ((D,), jnp.float64)


@pytest.mark.parametrize("make_key", [jr.key, jr.PRNGKey], ids=["typed keys", "raw keys"])
@pytest.mark.parametrize("count", [2, 5])
def test_every_layer_has_its_own_dropout_key(make_key: Any, count: int) -> None:
    class Noise(eqx.Module):
        w: jax.Array

        def __call__(self, x: Any, key: Any) -> Any:
            return x + self.w * jr.normal(key, x.shape)

    layers = [Noise(jnp.ones(())) for _ in range(count)]
    keys = jr.split(make_key(3), count)
    x = jnp.zeros(4)
    expected = x
    for layer, key in zip(layers, keys, strict=True):
        expected = layer(expected, key)
    got = ArrayStacked.of(layers).fold_via(Noise.__call__, in_axes=0)(x, keys)
    assert_close(got, expected)
    assert not np.allclose(got, count * layers[0](x, keys[0]))  # one key for all layers


@pytest.mark.parametrize("make_key", [jr.key, jr.PRNGKey], ids=["typed key", "raw key"])
def test_layers_that_hold_keys_are_stacked(make_key: Any) -> None:
    class Holds(eqx.Module):
        key: jax.Array

        def __call__(self, x: Any) -> Any:
            return x + jr.normal(self.key, x.shape)

    layers = [Holds(make_key(seed)) for seed in range(3)]
    stack = ArrayStacked.of(layers)
    assert stack.stacked.key.dtype == layers[0].key.dtype
    assert_close(stack.fold(jnp.zeros(2)), loop_plain(layers, jnp.zeros(2)))
    assert jnp.array_equal(jr.key_data(stack[1].key), jr.key_data(layers[1].key))


@pytest.mark.parametrize("make_key", [jr.key, jr.PRNGKey], ids=["typed key", "raw key"])
@pytest.mark.parametrize("policy", ["no remat", "full", "nested", "offload"])
def test_a_key_that_is_split_in_the_loop_is_carried(make_key: Any, policy: str) -> None:
    class Chain(eqx.Module):
        w: jax.Array

        def __call__(self, carry: Any) -> Any:
            key, x = carry
            key, sub = jr.split(key)
            return key, x * self.w + jr.normal(sub, x.shape)

    layers = [Chain(jnp.float64(i + 1)) for i in range(5)]
    stack = ArrayStacked.of(layers, gradient_checkpointing=POLICIES[policy])

    def last(run: Any, x: Any) -> Any:
        return run((make_key(7), x))[1].sum()

    x = jnp.ones(3)
    assert_close(
        jax.value_and_grad(lambda x: last(stack.fold, x))(x),
        jax.value_and_grad(lambda x: last(lambda c: loop_plain(layers, c), x))(x),
    )


def test_state_is_carried() -> None:
    class Counting(eqx.Module):
        w: jax.Array

        def __call__(self, x: Any, state: Any, index: Any) -> Any:
            x = x * self.w
            return x, state.set(index, state.get(index) + x.sum())

    class Model(eqx.Module):
        index: eqx.nn.StateIndex[Any]
        layers: Any

        def __init__(self) -> None:
            self.index = eqx.nn.StateIndex(jnp.zeros(()))
            self.layers = [Counting(jnp.float64(i + 2)) for i in range(4)]

    model, state = eqx.nn.make_with_state(Model)()
    x, expected = jnp.ones(2), state.substate(model.index)
    for layer in model.layers:
        x, expected = layer(x, expected, model.index)

    def body(layer: Any, carry: Any, index: Any) -> Any:
        return layer(*carry, index)

    got, new = ArrayStacked.of(model.layers).fold_via(body)((jnp.ones(2), state), model.index)
    assert_close((got, new.get(model.index)), (x, expected.get(model.index)))
    assert float(new.get(model.index)) != 0.0


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32, jnp.complex64])
def test_the_models_own_dtype_is_kept(dtype: Any) -> None:
    layers = [Numbered(jnp.asarray(1 + i / 8, dtype), 0.5) for i in range(6)]
    x = jnp.arange(1, 5).astype(dtype)
    with jax.disable_jit():  # one operation after the other: jit may keep bfloat16 in a wider type in between
        expected = loop_plain(layers, x)
        got = ArrayStacked.of(layers).fold(x)
    assert got.dtype == expected.dtype == dtype
    assert np.asarray(got).tobytes() == np.asarray(expected).tobytes()


def test_integer_arrays_and_functions_have_no_gradient() -> None:
    stack = ArrayStacked.of(blocks(3))
    grads = eqx.filter_grad(lambda stack: stack.fold(jnp.ones(D)).sum())(stack)
    assert grads.stacked.table is None
    assert grads.stacked.activation is None
    assert grads.stacked.linear.weight.shape == (3, 2 * D, D)
    assert float(jnp.abs(grads[2].linear.weight).max()) > 0  # the last layer ran
    assert len(list(grads)) == 3


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("policy", ["no remat", "two chunks", "nested"])
@pytest.mark.parametrize("unroll", [1, 3, True])
def test_collected_outputs_are_in_the_order_of_the_layers(reverse: bool, policy: str, unroll: Any) -> None:
    layers, x = blocks(7), jnp.arange(1.0, D + 1)

    def step(layer: Any, carry: Any, number: Any) -> Any:
        new = layer(carry)
        return new, {"before": carry, "times": new * number}

    stack = ArrayStacked.of(layers, gradient_checkpointing=POLICIES[policy])
    numbers = jnp.arange(7.0)
    carry, ys = stack.scan_via(step, in_axes=0, unroll=unroll, reverse=reverse)(x, numbers)
    expected: list[Any] = []
    for index in reversed(range(7)) if reverse else range(7):
        x, y = step(layers[index], x, numbers[index])
        expected.append(y)
    if reverse:
        expected.reverse()
    assert_close((carry, ys), (x, jax.tree.map(lambda *one: np.stack(one), *expected)))


def test_independent_layers_are_mapped() -> None:
    layers, x = blocks(4), jnp.arange(1.0, D + 1)
    got = ArrayStacked.of(layers).vmap_via(Block.__call__, out_axes=1)(x)
    assert_close(got, np.stack([layer(x) for layer in layers], axis=1))


def test_the_override_acts_on_stacks_inside_and_ends_with_the_context() -> None:
    stack = ArrayStacked.of(blocks(4), gradient_checkpointing=True)

    def remats() -> int:
        return str(jax.make_jaxpr(lambda x: stack.fold(x))(jnp.ones(D))).count("prevent_cse")

    assert remats() == 1
    with remat_policy_override(False):
        assert remats() == 0
        with remat_policy_override(ScanCheckpointPolicy(nested=2)):
            assert remats() == 2
        assert remats() == 0
    assert remats() == 1
    with pytest.raises(ValueError, match="remat policy"), remat_policy_override("nestd"):
        pass
    assert remats() == 1
