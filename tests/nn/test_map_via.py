"""Independent layers: a list with what each gives, as a comprehension builds it."""

import itertools
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

D = 3
BOTH = pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])


pytestmark = pytest.mark.usefixtures("float64")


class Head(eqx.Module):
    weight: jax.Array
    size: int = eqx.field(static=True, default=2)

    def __call__(self, x: Any, scale: Any = 1.0) -> Any:
        y = jnp.sin(self.weight @ x) * scale
        return {"y": y[: self.size], "size": self.size, "norm": (y**2).sum(), "name": "head", "nothing": None}

    def noisy(self, x: Any, key: Any) -> Any:
        return self.weight @ x + jr.normal(key, x.shape)


def heads(count: int, sizes: Any = (2,)) -> list[Head]:
    keys = jr.split(jr.key(0), count)
    return [Head(jr.normal(key, (D, D)), sizes[at % len(sizes)]) for at, key in enumerate(keys)]


def same(got: Any, want: Any, rtol: float = 1e-12) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        if not eqx.is_array(other):
            assert type(one) is type(other) and one == other
            continue
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if jnp.issubdtype(other.dtype, jax.dtypes.prng_key):
            one, other = jr.key_data(one), jr.key_data(other)
        assert one.weak_type == other.weak_type
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


X = np.linspace(-1.0, 1.0, D)  # jnp would make it 32 bits here, before the fixture


@pytest.mark.parametrize(
    ("kind", "sizes", "count"),
    [(ArrayStacked, (2,), 5), (ArrayStacked, (2,), 1), (BlockSeq, (2,), 4), (BlockSeq, (1, 2, 2), 7)],
    ids=["equal", "one", "a sequence of equal ones", "of different shapes"],
)
def test_results_are_those_of_the_comprehension(kind: Any, sizes: Any, count: int) -> None:
    layers, scales = heads(count, sizes), jnp.linspace(0.5, 1.5, count)
    mapped = kind.of(layers).map_via(Head.__call__, in_axes=(None, 0))
    want = [head(X, scale) for head, scale in zip(layers, scales, strict=True)]
    assert type(mapped(X, scales)) is list
    same(mapped(X, scales), want)
    same(eqx.filter_jit(mapped)(X, scales), want)


@BOTH
def test_a_lambda_sees_what_is_around_it(kind: Any) -> None:
    layers = heads(4)
    same(kind.of(layers).map_via(lambda head: head(X)["y"])(), [head(X)["y"] for head in layers])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=6))
def test_any_mixture_of_shapes(sizes: list[int]) -> None:
    with jax.enable_x64(True):
        layers = heads(len(sizes), sizes)
        same(BlockSeq.of(layers).map_via(Head.__call__)(X), [head(X) for head in layers])


@pytest.mark.parametrize(("kind", "sizes"), [(ArrayStacked, (2,)), (BlockSeq, (1, 2))])
def test_gradients_are_those_of_the_comprehension(kind: Any, sizes: Any) -> None:
    layers = heads(6, sizes)

    def loss(sequence: Any, x: Any) -> Any:
        results = sequence.map_via(Head.__call__)(x) if isinstance(sequence, kind) else [one(x) for one in sequence]
        return sum((at + 1) * one["norm"] + one["y"].sum() for at, one in enumerate(results))

    got, want = (jax.grad(loss, argnums=(0, 1))(sequence, X) for sequence in (kind.of(layers), layers))
    same([layer.weight for layer in got[0]], [layer.weight for layer in want[0]])
    same(got[1], want[1])


@BOTH
def test_equal_layers_are_one_program(kind: Any) -> None:
    def dots(count: int) -> int:
        sequence = kind.of(heads(count))
        text = str(jax.make_jaxpr(lambda x: [one["norm"] for one in sequence.map_via(Head.__call__)(x)])(X))
        return text.count("sin")

    assert dots(3) == dots(9) == 1


@BOTH
@pytest.mark.parametrize("walked", [list, tuple, iter, lambda xs: xs, lambda xs: (x for x in xs)])
def test_what_is_walked_beside_the_layers(kind: Any, walked: Any) -> None:
    layers, xs = heads(4), jnp.arange(12.0).reshape(4, D)
    same(kind.of(layers).map_via(Head.__call__, in_axes=0)(walked(xs)), [h(x) for h, x in zip(layers, xs, strict=True)])


def test_plain_numbers_beside_the_layers_stay_plain() -> None:
    layers, tokens = heads(4, (1, 2)), jnp.arange(12.0).reshape(D, 4)
    mapped = BlockSeq.of(layers).map_via(lambda head, i: (head(tokens[..., i]), i, f"head {i}"), in_axes=0)
    same(mapped(range(4)), [(head(tokens[..., i]), i, f"head {i}") for i, head in enumerate(layers)])


@BOTH
@pytest.mark.parametrize("walked", [lambda: [1.0, 2.0], lambda: itertools.repeat(1.0), lambda: iter([1.0])])
def test_another_number_of_elements_is_an_error(kind: Any, walked: Any) -> None:
    with pytest.raises(ValueError, match="expected one element for each of the 4 layers"):
        kind.of(heads(4)).map_via(Head.__call__, in_axes=(None, 0))(X, walked())


@BOTH
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
@pytest.mark.parametrize("typed", [True, False])
def test_random_draws_are_those_of_the_loop(kind: Any, impl: str, typed: bool) -> None:
    with jax.default_prng_impl(impl):
        layers = heads(5)
        keys = jr.split(jr.key(7) if typed else jr.PRNGKey(7), 5)
        got = kind.of(layers).map_via(Head.noisy, in_axes=(None, 0))(X, keys)
        same(got, [head.noisy(X, key) for head, key in zip(layers, keys, strict=True)])
        same(kind.of(layers).map_via(lambda head, key: key, in_axes=0)(keys), list(keys))


class Branching(eqx.Module):
    scale: jax.Array

    def __call__(self, x: Any) -> Any:
        return jax.lax.cond(self.scale > 0, lambda: jnp.sqrt(self.scale) * x, lambda: self.scale * x).sum()


@BOTH
def test_the_branch_that_is_not_taken_has_no_gradient(kind: Any) -> None:
    """Under vmap a cond is a select, whose gradient through the square root of a negative number is not a number."""
    layers = [Branching(jnp.asarray(scale)) for scale in (1.0, -1.0, 0.0, 4.0)]

    def loss(sequence: Any) -> Any:
        return sum(sequence.map_via(Branching.__call__)(X))

    got = jax.grad(loss)(kind.of(layers))
    want = jax.grad(lambda layers: sum(layer(X) for layer in layers))(layers)
    same([layer.scale for layer in got], [layer.scale for layer in want])
    assert jnp.isfinite(jnp.stack([layer.scale for layer in got])).all()


@BOTH
def test_effects_come_in_the_order_of_the_layers(kind: Any, capsys: Any) -> None:
    def told(head: Any) -> Any:
        jax.debug.print("norm {norm:.6f}", norm=(head.weight**2).sum(), ordered=True)
        return head.weight.sum()

    layers = heads(4, (2,) if kind is ArrayStacked else (1, 2))
    jax.block_until_ready([told(head) for head in layers])
    jax.effects_barrier()
    want = capsys.readouterr().out
    jax.block_until_ready(kind.of(layers).map_via(told)())
    jax.effects_barrier()
    assert capsys.readouterr().out == want != ""


def test_states_of_their_own() -> None:
    norms, state = eqx.nn.make_with_state(
        lambda: [eqx.nn.BatchNorm(D, "batch", mode="batch", dtype=jnp.float64) for _ in range(3)]
    )()
    norms = eqx.nn.inference_mode(norms)  # in training each state can be used once
    xs = jnp.arange(4.0 * D).reshape(4, D)

    def loop(x: Any) -> Any:
        return [norm(x, state)[0] for norm in norms]

    def ours(x: Any) -> Any:
        return BlockSeq.of(norms).map_via(lambda norm: norm(x, state)[0])()

    same(jax.vmap(ours, axis_name="batch")(xs), jax.vmap(loop, axis_name="batch")(xs), rtol=1e-10)


def test_a_sequence_of_layers_beside_the_layers() -> None:
    layers, others = heads(3), heads(3)[::-1]
    got = ArrayStacked.of(layers).map_via(lambda a, b: a(b(X)["norm"] * X)["y"], in_axes=0)(BlockSeq.of(others))
    same(got, [a(b(X)["norm"] * X)["y"] for a, b in zip(layers, others, strict=True)])
