"""A sequence of layers computes what the Python loop computes, and its program grows with the layers that differ."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scanify.nn import BlockSeq, ScanCheckpointPolicy
from tests.nn.of_layers import D, X, arrays, assert_same, found

pytestmark = pytest.mark.usefixtures("float64")

POLICIES: dict[str, Any] = {
    "no remat": False,
    "full": True,
    "nested": "nested",
    "two chunks": ScanCheckpointPolicy(nested=2),
    "dots": "dots",
    "save_all": "save_all",
    "no carries": ScanCheckpointPolicy(save_carries=False),
}


class Block(eqx.Module):
    """`window` is read in the program, `index` and `hook` are not; `activation` is made anew for each."""

    linear: eqx.nn.Linear
    scale: jax.Array
    drop: float
    activation: Callable[..., Any]
    window: int = eqx.field(static=True)
    index: int = eqx.field(static=True)
    hook: Any = eqx.field(static=True)

    def __init__(self, key: Any, *, window: int = 1, drop: float = 0.0, index: int = 0, power: int = 1) -> None:
        self.linear = eqx.nn.Linear(D, D, key=key)
        self.scale = jr.normal(key, (D,))
        self.drop = drop
        self.activation = lambda x: jnp.tanh(x) ** power
        self.window = window
        self.index = index
        self.hook = object()

    def __call__(self, x: Any, key: Any = None) -> Any:
        y = self.activation(self.linear(jnp.roll(x, self.window))) + jax.nn.relu(self.scale * x)
        if key is not None and self.drop != 0:
            keep = jr.bernoulli(key, 1 - self.drop, y.shape)
            y = jnp.where(keep, y / (1 - self.drop), 0)
        return x + y


class Wide(eqx.Module):
    """Another class with other shapes."""

    first: jax.Array
    second: jax.Array

    def __init__(self, key: Any) -> None:
        # Small, so that sixteen of them do not make rounding a hundred thousand times larger.
        self.first = jr.normal(key, (2 * D, D)) / 4
        self.second = jr.normal(key, (D, 2 * D)) / 4

    def __call__(self, x: Any, key: Any = None) -> Any:
        noise = 0.0 if key is None else jr.normal(key, x.shape)
        return x + self.second @ jnp.sin(self.first @ x) + noise


def layers_of(text: str, *, drops: bool = False) -> list[Any]:
    """A: window 1, B: window 2, P: another power, W: another class; each its own index, hook and function."""
    made = {
        "A": lambda key, index: Block(key, index=index, drop=index / 40 if drops else 0.0),
        "B": lambda key, index: Block(key, index=index, window=2),
        "P": lambda key, index: Block(key, index=index, power=2),
        "W": lambda key, index: Wide(key),
    }
    return [
        made[kind](key, at) for at, (kind, key) in enumerate(zip(text, jr.split(jr.key(7), len(text)), strict=True))
    ]


def loop(layers: Sequence[Any], x: Any, keys: Any = None) -> Any:
    for index, layer in enumerate(layers):
        x = layer(x, None if keys is None else keys[index])
    return x


def lines(fn: Callable[[Any], Any], tree: Any) -> int:
    """Lines of StableHLO of the gradient."""
    dynamic, static = eqx.partition(tree, eqx.is_array)
    gradient = jax.grad(lambda dynamic: jnp.sum(fn(eqx.combine(dynamic, static))))
    return len(jax.jit(gradient).lower(dynamic).as_text().splitlines())


# -- values and gradients --------------------------------------------------------------------------------------------


@functools.cache
def truth(text: str) -> Any:
    """The value and the gradients of the loop."""
    layers = layers_of(text)
    return loop(layers, X), eqx.filter_grad(lambda layers: jnp.sum(loop(layers, X) ** 2))(layers)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("text", ["WAAAAAPW", "AAAWAAAWA"])
def test_values_and_gradients_are_those_of_the_loop(text: str, policy: Any) -> None:
    blocks = BlockSeq.of(layers_of(text), gradient_checkpointing=policy)
    value, want = truth(text)
    assert_same(eqx.filter_jit(lambda blocks: blocks.fold(X))(blocks), value)
    got = eqx.filter_jit(eqx.filter_grad(lambda blocks: jnp.sum(blocks.fold(X) ** 2)))(blocks)
    for mine, theirs in zip(got, want, strict=True):
        assert_same(arrays(mine), arrays(theirs))


@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@given(
    st.one_of(
        st.text("ABPW", min_size=1, max_size=9),
        st.tuples(st.text("AW", max_size=2), st.text("ABW", min_size=1, max_size=3), st.integers(2, 4)).map(
            lambda parts: parts[0] + parts[1] * parts[2] + parts[0]
        ),
    ),
    st.booleans(),
    st.sampled_from([None, "train"]),
)
def test_any_sequence_is_the_loop(text: str, reverse: bool, mode: str | None) -> None:
    with jax.enable_x64(True):
        layers = layers_of(text, drops=True)
        keys = None if mode is None else jr.split(jr.key(3), len(text))
        blocks = BlockSeq.of(layers)
        fold = BlockSeq.fold_via
        turned = slice(None, None, -1 if reverse else 1)

        def ours(blocks: Any) -> Any:
            return fold(blocks, lambda layer, x, key: layer(x, key), in_axes=0, reverse=reverse)(X, keys)

        def theirs(layers: Any) -> Any:
            return loop(layers[turned], X, None if keys is None else keys[turned])

        assert_same(ours(blocks), theirs(layers))
        got = eqx.filter_grad(lambda blocks: jnp.sum(ours(blocks)))(blocks)
        want = eqx.filter_grad(lambda layers: jnp.sum(theirs(layers)))(layers)
        assert_same([arrays(layer) for layer in got], [arrays(layer) for layer in want])


@pytest.mark.whole
def test_tangents_and_batches_are_those_of_the_loop() -> None:
    layers = layers_of("AAAABAAAAB")
    blocks = BlockSeq.of(layers)
    got, want = ((jax.jvp(f, (X,), (X + 1,))) for f in (blocks.fold, lambda x: loop(layers, x)))
    assert_same(got, want)
    batch = jr.normal(jr.key(1), (5, D))
    assert_same(jax.vmap(blocks.fold)(batch), jax.vmap(lambda x: loop(layers, x))(batch))
    # Away from the kink of relu: at it, lax.scan of jax 0.10 takes another second derivative than a loop.
    hessian = jax.hessian(lambda x: jnp.sum(blocks.fold(x)))(X + 0.125)
    assert_same(hessian, jax.hessian(lambda x: jnp.sum(loop(layers, x)))(X + 0.125))


# -- what is found ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AAAA", "4 layers: 4 x Block"),
        ("A", "1 layer: Block"),
        ("AA", "2 layers: Block + Block"),
        ("WWWAAAAA", "8 layers: 3 x Wide + 5 x Block"),
        ("AAAAAW" * 3, "18 layers: 3 x (5 x Block + Wide)"),
        ("AAAB" * 2, "8 layers: 2 x (3 x Block (a) + Block (b))"),
        ("PAAAAB", "6 layers: Block (a) + 4 x Block (b) + Block (c)"),
    ],
)
def test_layers_that_compute_the_same_are_found(text: str, words: str) -> None:
    assert found(layers_of(text), X) == words


def test_drop_rates_make_no_difference_in_inference_and_are_scanned_over_in_training() -> None:
    layers = layers_of("A" * 12, drops=True)
    keys = jr.split(jr.key(0), 12)
    assert found(layers, X) == "12 layers: 12 x Block"
    assert found(layers, X, keys, in_axes=0) == "12 layers: Block (a) + 11 x Block (b)"
    assert_same(
        BlockSeq.of(layers).fold_via(lambda layer, x, key: layer(x, key), in_axes=0)(X, keys), loop(layers, X, keys)
    )


def test_what_was_found_by_fields_alone_is_told_with_the_first_difference() -> None:
    layers = [eqx.nn.Linear(D, D, use_bias=at % 3 < 2, key=jr.key(at)) for at in range(9)]
    words = BlockSeq.of(layers).describe()
    assert words.startswith("9 layers: 3 x (Linear (a) + Linear (a) + Linear (b)); (a) and (b) differ at .bias: ")
    assert "BlockSeq(9 layers: " in repr(BlockSeq.of(layers))


@pytest.mark.parametrize(
    ("short", "long"), [("A" * 4, "A" * 24), ("AAAAAW" * 2, "AAAAAW" * 6), ("WWW" + "A" * 4, "WWW" + "A" * 20)]
)
def test_the_program_does_not_grow_with_layers_that_repeat(short: str, long: str) -> None:
    counts = [lines(lambda blocks: blocks.fold(X), BlockSeq.of(layers_of(text))) for text in (short, long)]
    assert counts[0] == counts[1]


@pytest.mark.whole
def test_the_program_grows_with_layers_that_differ() -> None:
    texts = ("A" * 24, "WA" * 12, "PWA" * 8)
    counts = [lines(lambda blocks: blocks.fold(X), BlockSeq.of(layers_of(text))) for text in texts]
    assert counts[0] < counts[1] < counts[2]
    assert counts[2] < lines(lambda layers: loop(layers, X), layers_of(texts[2]))


class Counted(eqx.Module):
    weight: jax.Array
    traces: list[int] = eqx.field(static=True)
    tag: str = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        self.traces.append(1)
        return x * self.weight


@pytest.mark.parametrize(("tags", "count"), [("a" * 8, 1), ("ab" * 4, 2), ("abcdefgh", 8)])
def test_each_layer_with_other_fields_is_traced_once(tags: str, count: int) -> None:
    traces: list[int] = []
    blocks = BlockSeq.of([Counted(jnp.array([float(at)]), traces, tag) for at, tag in enumerate(tags)])
    eqx.filter_jit(lambda blocks: blocks.fold(jnp.ones(1)))(blocks)
    assert len(traces) == count
    traces.clear()
    eqx.filter_jit(eqx.filter_grad(lambda blocks: jnp.sum(blocks.fold(jnp.ones(1)))))(blocks)
    assert len(traces) == count
