"""What layers give beside the carry, in a list as a loop that appends builds it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.nn import ArrayStacked, BlockSeq

D = 3


pytestmark = pytest.mark.usefixtures("float64")


class Layer(eqx.Module):
    weight: jax.Array
    size: int = eqx.field(static=True, default=1)

    def __call__(self, x: Any, scale: Any) -> Any:
        x = jnp.sin(self.weight @ x) * scale
        return x, {"first": x[: self.size], "norm": (x**2).sum(), "name": "y", "nothing": None, "size": self.size}


def layers(count: int, sizes: Any = (1,)) -> list[Layer]:
    keys = jr.split(jr.key(0), count)
    return [Layer(jr.normal(key, (D, D)), sizes[at % len(sizes)]) for at, key in enumerate(keys)]


def appended(sequence: Any, x: Any, scales: Any, reverse: bool) -> tuple[Any, list[Any]]:
    """The oracle; a reversed walk gives its ys in the order of the sequence too."""
    ys: list[Any] = []
    pairs = list(zip(sequence, scales, strict=True))
    for layer, scale in reversed(pairs) if reverse else pairs:
        x, y = layer(x, scale)
        ys.append(y)
    return x, ys[::-1] if reverse else ys


def same(got: Any, want: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        if isinstance(other, str | int | float):
            assert type(one) is type(other)
            assert one == other
            continue
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("kind", "sizes", "count"),
    [(ArrayStacked, (2,), 5), (ArrayStacked, (2,), 1), (BlockSeq, (2,), 5), (BlockSeq, (1, 2, 2), 7)],
    ids=["equal", "one", "a sequence of equal ones", "of different shapes"],
)
def test_ys_are_those_that_a_loop_appends(kind: Any, sizes: Any, count: int, reverse: bool) -> None:
    sequence, x, scales = layers(count, sizes), jnp.linspace(-1.0, 1.0, D), jnp.linspace(0.5, 1.5, count)
    collect = kind.of(sequence).collect_via(Layer.__call__, in_axes=0, reverse=reverse)
    want = appended(sequence, x, scales, reverse)
    same(collect(x, scales), want)
    same(eqx.filter_jit(collect)(x, scales), want)


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_a_dict_keeps_the_order_of_its_entries(kind: Any) -> None:
    def named(layer: Layer, x: Any) -> Any:
        x = layer(x, 1.0)[0]
        return x, [{"b": x, "a": {2: 2, 1: x}, 3: None}]

    _, ys = kind.of(layers(2)).collect_via(named)(jnp.ones(D))
    assert [list(y) for (y,) in ys] == [["b", "a", 3]] * 2
    assert [next(iter(y["a"].items())) for (y,) in ys] == [(2, 2)] * 2


def test_gradients_go_through_the_list() -> None:
    sequence, x, scales = layers(6, (1, 2)), jnp.linspace(-1.0, 1.0, D), jnp.linspace(0.5, 1.5, 6)

    def loss(collect: Any) -> Any:
        def total(x: Any, scales: Any) -> Any:
            last, ys = collect(x, scales)
            return last.sum() + sum((at + 1) * y["norm"] + y["first"].sum() for at, y in enumerate(ys))

        return jax.grad(total, argnums=(0, 1))(x, scales)

    ours = BlockSeq.of(sequence).collect_via(Layer.__call__, in_axes=0)
    same(loss(ours), loss(lambda x, scales: appended(sequence, x, scales, False)))


def test_layers_that_name_their_ys_differently_are_scanned_over_as_one_kind() -> None:
    sequence, x = BlockSeq.of(layers(5)), jnp.linspace(-1.0, 1.0, D)

    def named(layer: Layer, x: Any, at: int) -> Any:
        x = layer(x, 1.0)[0]
        return x, {f"layer {at}": x, "at": at, "weak": jnp.asarray(1.0) * 2} if at % 2 else [at]

    ys: list[Any] = []
    want = x
    for at, layer in enumerate(sequence):
        want, y = named(layer, want, at)
        ys.append(y)
    same(sequence.collect_via(named, in_axes=0)(x, range(5)), (want, ys))


@pytest.mark.parametrize("kind", [ArrayStacked, BlockSeq])
def test_equal_layers_are_one_scan(kind: Any) -> None:
    sequence = kind.of(layers(6))

    def named(layer: Layer, x: Any, at: Any) -> Any:
        x = layer(x, 1.0)[0]
        return x, {f"layer {at}" if kind is BlockSeq else "layer": x}

    jaxpr = jax.make_jaxpr(lambda x: sequence.collect_via(named, in_axes=0)(x, range(6))[0])(jnp.ones(D))
    assert [each.primitive.name for each in jaxpr.eqns].count("scan") == 1
    assert "sin" not in [each.primitive.name for each in jaxpr.eqns]


def test_a_pair_is_asked_for() -> None:
    for kind in (ArrayStacked, BlockSeq):
        with pytest.raises(TypeError, match=r"expected a layer to give a pair \(carry, y\)"):
            kind.of(layers(2)).collect_via(lambda layer, x: x)(jnp.ones(D))
