"""A sequence of layers computes what the Python loop computes, and its program grows with the layers that differ."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scanify.nn import BlockSeq, ScanCheckpointPolicy

D = 3
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


@pytest.fixture(autouse=True)
def _float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


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


def arrays(tree: Any) -> list[Any]:
    return jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))


def assert_same(got: Any, want: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        # Relative to the array: an entry in which large terms cancel has the rounding errors of those.
        scale = max(1.0, float(np.max(np.abs(other), initial=0.0)))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * scale)
        assert (jnp.shape(one), jnp.result_type(one)) == (jnp.shape(other), jnp.result_type(other))


X = np.linspace(-1, 1, D)


def lines(fn: Callable[[Any], Any], tree: Any) -> int:
    """Lines of StableHLO of the gradient."""
    dynamic, static = eqx.partition(tree, eqx.is_array)
    gradient = jax.grad(lambda dynamic: jnp.sum(fn(eqx.combine(dynamic, static))))
    return len(jax.jit(gradient).lower(dynamic).as_text().splitlines())


# -- values and gradients --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("text", ["WAAAAAPW", "AAAWAAAWA"])
def test_values_and_gradients_are_those_of_the_loop(text: str, policy: Any) -> None:
    layers = layers_of(text)
    blocks = BlockSeq.of(layers, gradient_checkpointing=policy)
    assert_same(eqx.filter_jit(lambda blocks: blocks.fold(X))(blocks), loop(layers, X))
    got = eqx.filter_jit(eqx.filter_grad(lambda blocks: jnp.sum(blocks.fold(X) ** 2)))(blocks)
    want = eqx.filter_grad(lambda layers: jnp.sum(loop(layers, X) ** 2))(layers)
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


def found(layers: Sequence[Any], *args: Any, fn: Any = None, **options: Any) -> str:
    call = fn or (lambda layer, x, *args: layer(x, *args))
    return BlockSeq.of(layers).describe_via(call, **options)(*args).split(";")[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("AAAA", "4 layers: 4 x Block"),
        ("A", "1 layers: Block"),
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


# -- what separates layers -------------------------------------------------------------------------------------------


def squares(x: Any) -> Any:
    return x * x


@jax.custom_jvp
def honest(x: Any) -> Any:
    return x * x


@jax.custom_jvp
def liar(x: Any) -> Any:
    return x * x


honest.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
liar.defjvp(lambda primals, tangents: (primals[0] ** 2, 7 * primals[0] * tangents[0]))


@jax.custom_vjp
def honest_vjp(x: Any) -> Any:
    return x * x


@jax.custom_vjp
def liar_vjp(x: Any) -> Any:
    return x * x


honest_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
liar_vjp.defvjp(lambda x: (x * x, x), lambda x, g: (7 * x * g,))


for _one, _other in ((honest, liar), (honest_vjp, liar_vjp)):
    _other.__name__ = _one.__name__  # type: ignore[attr-defined]
    _other.fun.__name__ = _one.fun.__name__


class Apply(eqx.Module):
    weight: jax.Array
    function: Callable[..., Any]

    def __call__(self, x: Any) -> Any:
        return self.function(x) * self.weight


def applied(*functions: Callable[..., Any]) -> list[Any]:
    return [Apply(1 + jr.normal(jr.key(at), (D,)), function) for at, function in enumerate(functions)]


UNLIKE = {
    "where gradients stop": (squares, lambda x: jax.lax.stop_gradient(x) * x),
    "rules for tangents": (honest, liar),
    "rules for cotangents": (honest_vjp, liar_vjp),
    "a literal that is a parameter": (lambda x: x**2, lambda x: x**3),
    "the order of operands": (lambda x: x - jnp.sin(x), lambda x: jnp.sin(x) - x),
    "slices of two sizes": (lambda x: x * x[:1], lambda x: x * x[:2].sum()),
    "slices with strides": (lambda x: x * x[:2:2], lambda x: x * x[1:3:2]),
    "constants of two shapes": (lambda x: x + np.arange(3.0), lambda x: x + np.arange(3.0)[:1]),
    "remat": (squares, jax.checkpoint(squares)),
}


@pytest.mark.parametrize("pair", UNLIKE.values(), ids=UNLIKE)
def test_programs_that_differ_in_more_than_scalars_are_apart(pair: Any) -> None:
    layers = applied(*pair * 3)
    assert found(layers, X) == "6 layers: 3 x (Apply (a) + Apply (b))"
    blocks = BlockSeq.of(layers)
    assert_same(blocks.fold(X), loop_plain(layers, X))
    assert_same(jax.grad(lambda x: jnp.sum(blocks.fold(x)))(X), jax.grad(lambda x: jnp.sum(loop_plain(layers, x)))(X))


def loop_plain(layers: Sequence[Any], x: Any) -> Any:
    for layer in layers:
        x = layer(x)
    return x


ROWS = list(jr.normal(jr.key(5), (4, 3)))
TABLE, KEYS = jnp.arange(4.0) + 1, jr.split(jr.key(0), 4)
ALIKE = {
    "larger constants": [lambda x, by=by: x + np.arange(3.0) ** by for by in (0, 1, 1, 2)],
    "arrays that are closed over": [lambda x, row=row: x * jnp.sin(x + row) * TABLE[:3] for row in ROWS],
    "two arrays each, of which some are the same": [lambda x, at=at: x * ROWS[at] + ROWS[at - 1] for at in range(4)],
    "functions made anew": [lambda x: jnp.sin(x) for _ in range(4)],
    "jitted functions made anew": [jax.jit(lambda x: jnp.sin(x) * 2) for _ in range(4)],
    "one rule for tangents": [lambda x: honest(x) for _ in range(4)],
    "one rule for cotangents": [lambda x: honest_vjp(x) for _ in range(4)],
    "activations of jax": [lambda x: jax.nn.silu(x) + jax.nn.relu(x) + jax.nn.gelu(x) for _ in range(4)],
    "scalars": [lambda x, by=by: jnp.sin(x) * by for by in (0.5, 0.5, -0.0, 2.0)],
    "scalars in a jitted function": [lambda x, by=by: jax.jit(lambda x: x * by)(x) for by in (0.5, 0.5, -0.0, 2.0)],
    "scalars in a jitted function in another": [
        lambda x, by=by: jax.jit(lambda x: jax.jit(lambda x: jnp.sin(x) / by)(x) + by)(x) for by in (0.5, 1.5, 3.0, 2.0)
    ],
    "integer scalars": [lambda x, by=by: jax.lax.dynamic_index_in_dim(x, by) + x for by in (0, 2, 1, 0)],
    "entries of one array": [lambda x, at=at: x * TABLE[at] for at in (0, 2, 1, -1)],
    "slices of one size": [lambda x, at=at: x + jnp.concatenate([x, 2 * x])[at : at + D] for at in (0, 2, 1, 3)],
    "slices in a jitted function": [lambda x, at=at: jax.jit(lambda x: x * TABLE[at])(x) for at in (0, 2, 1, 3)],
    "entries of keys": [lambda x, at=at: x * jr.normal(KEYS[at], (D,)) for at in (0, 2, 1, 3)],
    "equal constants": [lambda x: x + np.arange(3.0) for _ in range(4)],
    "what no result reads": [lambda x, by=by: (jnp.cos(x) ** by, jnp.sin(x))[1] for by in (2, 3, 4, 5)],
}


@pytest.mark.parametrize("functions", ALIKE.values(), ids=ALIKE)
def test_programs_that_differ_in_scalars_alone_are_one_scan(functions: Any) -> None:
    layers = applied(*functions)
    assert found(layers, X) == "4 layers: 4 x Apply"
    blocks = BlockSeq.of(layers)
    assert_same(blocks.fold(X), loop_plain(layers, X))
    got = jax.jit(jax.grad(lambda x: jnp.sum(blocks.fold(x))))(X)
    assert_same(got, jax.grad(lambda x: jnp.sum(loop_plain(layers, x)))(X))


def test_a_layer_may_change_the_shape_and_dtype_of_the_carry() -> None:
    class Cut(eqx.Module):
        weight: jax.Array

        def __call__(self, x: Any) -> Any:
            return (self.weight @ x).astype(jnp.float32)

    weights = [jr.normal(jr.key(at), (D, 5 if at == 0 else D)) for at in range(6)]
    layers = [Cut(weight) for weight in weights]
    x = np.linspace(0, 1, 5)
    assert_same(BlockSeq.of(layers).fold(x), loop_plain(layers, x))
    assert found(layers, x, fn=lambda layer, x: layer(x)) == "6 layers: Cut (a) + 5 x Cut (b)"


def test_a_weak_typed_carry_goes_the_way_of_the_loop() -> None:
    class Add(eqx.Module):
        weight: jax.Array

        def __call__(self, x: Any) -> Any:
            return x + self.weight

    layers = [Add(jnp.float32(at)) for at in range(5)]
    got, want = BlockSeq.of(layers).fold(0.5), loop_plain(layers, 0.5)
    assert got == want
    assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)


def test_arrays_of_another_list_are_scanned_over_and_differentiated() -> None:
    layers, others = applied(squares, squares, squares, squares), applied(*[jnp.sin] * 4)

    def body(layer: Any, x: Any, at: int) -> Any:
        x = layer(x)
        return others_of[at](x) * shared if at >= 0 else x

    def folded(others: Any, shared_: Any) -> Any:
        nonlocal others_of, shared
        others_of, shared = others, shared_
        return jnp.sum(BlockSeq.of(layers).fold_via(body, in_axes=(0,))(X, range(4)))

    def looped(others: Any, shared_: Any) -> Any:
        x = X
        for layer, other in zip(layers, others, strict=True):
            x = other(layer(x)) * shared_
        return jnp.sum(x)

    others_of, shared = others, X
    given = (others, X + 1)
    assert_same(eqx.filter_grad(lambda both: folded(*both))(given), eqx.filter_grad(lambda both: looped(*both))(given))
    jaxpr = eqx.filter_make_jaxpr(lambda both: folded(*both))(given)[0].jaxpr
    (scan,) = [one for one in jaxpr.eqns if one.primitive.name == "scan"]
    shapes = [one.aval.shape for one in scan.invars]
    assert shapes.count((4, D)) == 2  # the weights of the layers and of the others; what all share is not scanned over
