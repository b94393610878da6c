"""Where `haliax.nn.ArrayStacked` is wrong: its answer, that of the loop, and that ours is the loop's or an error.

Without haliax (the dependency group `haliax`) the tests show ours alone.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import scanify.nn as snn
from scanify.verify.proof.prove import prove
from tests.nn.side_by_side import (
    HERE,
    MASKS,
    SHIFTS,
    D,
    Mixer,
    N,
    X,
    assert_close,
    haliax,
    loop,
    mixers,
    needs_haliax,
    ours,
    theirs,
)


def test_a_loop_over_no_layers_is_the_identity() -> None:
    assert snn.ArrayStacked.init(0, Mixer)(jnp.ones(0)).fold(X) is X
    if HERE:
        with pytest.raises(ValueError, match="num_layers"):
            haliax().nn.ArrayStacked.init(0, Mixer)


class Rated(eqx.Module):
    weight: jax.Array
    rate: float = eqx.field(static=True)

    def __call__(self, x: Any) -> Any:
        return x + self.weight * (1 - self.rate)


class Numbered(eqx.Module):
    weight: jax.Array
    rate: float

    def __call__(self, x: Any) -> Any:
        return x + self.weight * (1 - self.rate)


def rated(kind: Any) -> list[Any]:
    return [kind(jnp.ones(()), rate) for rate in (0.0, 0.1, 0.2, 0.3)]


@pytest.mark.parametrize("kind", [Rated, Numbered], ids=["static field", "plain number"])
def test_rates_that_differ_are_refused_where_haliax_takes_those_of_layer_0(kind: Any) -> None:
    assert float(loop(rated(kind), jnp.zeros(()), lambda layer, x, i: layer(x))) == pytest.approx(3.4)
    with pytest.raises(ValueError, match=r"layers 0 and 1 differ at \.rate: 0\.0 and 0\.1"):
        ours(rated(kind))
    if HERE:
        assert float(theirs(rated(kind)).fold(jnp.zeros(()))) == 4.0


@needs_haliax
def test_the_prover_tells_the_rates_of_layer_0_from_those_of_each() -> None:
    def of(apply: Callable[[list[Any]], Any]) -> Any:
        weights = [jnp.ones(())] * N
        return jax.make_jaxpr(
            lambda weights: apply([Rated(w, layer.rate) for w, layer in zip(weights, rated(Rated), strict=True)])
        )(weights)

    before = of(lambda layers: loop(layers, jnp.zeros(()), lambda layer, x, i: layer(x)))
    proof = prove(before, of(lambda layers: theirs(layers).fold(jnp.zeros(()))))
    assert not proof.proved and proof.difference is not None


class Table(eqx.Module):
    weight: jax.Array
    table: jax.Array

    @staticmethod
    def init(weight: Any, table: Any) -> "Table":
        return Table(weight, table)

    def __call__(self, x: Any) -> Any:
        return x + self.weight * self.table.sum()


@pytest.mark.parametrize("length", [N - 1, N])
def test_an_array_that_all_layers_share_is_not_taken_apart_where_haliax_goes_by_its_length(length: int) -> None:
    weights, table = jnp.arange(1.0, N + 1), jnp.arange(1.0, length + 1)
    layers = [Table(weight, jnp.copy(table)) for weight in weights]
    expected = float(loop(layers, jnp.zeros(()), lambda layer, x, i: layer(x)))
    assert expected == 10 * table.sum()
    assert float(ours(layers).fold(jnp.zeros(()))) == expected
    if HERE:
        shared = haliax().nn.ArrayStacked(Table(weights, table), N, haliax().nn.ScanCheckpointPolicy())
        assert float(shared.fold(jnp.zeros(()))) == (expected if length != N else 30.0)


@pytest.mark.parametrize("length", [N - 1, N])
def test_a_stack_put_together_of_arrays_without_layers_is_refused_where_it_can_be_seen(length: int) -> None:
    """Of a stack that is put together by hand every array has the layers along axis 0, whatever it means."""
    stack = snn.ArrayStacked(Table(jnp.ones(N), jnp.arange(1.0, length + 1)), N)
    if length == N:
        assert_close(list(stack.unstacked()), [Table(jnp.ones(()), jnp.asarray(1.0 + i)) for i in range(N)])
    else:
        with pytest.raises(ValueError, match=r"expected every array of the stack.*\.table is float32\[3\]"):
            stack.fold(jnp.zeros(()))


def test_nothing_stays_nothing_along_axis_0_where_haliax_raises() -> None:
    def each(layer: Any, x: Any, key: Any) -> Any:
        return layer(x) if key is None else layer(x) + jr.normal(key, (D,))

    expected = loop(mixers(), X, lambda layer, x, i: layer(x))
    assert_close(ours(mixers()).fold_via(each, in_axes=0)(X, None), expected)
    if HERE:
        with pytest.raises(TypeError, match="requires an array-like input"):
            theirs(mixers()).fold_via(each, in_axes=0)(X, None)


def test_a_list_with_an_element_for_each_layer_is_taken_apart_where_haliax_raises() -> None:
    caches = [{"k": MASKS[i]} for i in range(N)]

    def each(layer: Any, x: Any, cache: Any) -> Any:
        return layer(x, cache["k"])

    expected = loop(mixers(), X, lambda layer, x, i: each(layer, x, caches[i]))
    assert_close(ours(mixers()).fold_via(each, in_axes=0)(X, caches), expected)
    if HERE:
        with pytest.raises(TypeError, match="requires an array-like input"):
            theirs(mixers()).fold_via(each, in_axes=0)(X, caches)


def test_one_key_for_all_layers_is_refused_where_haliax_builds_equal_layers() -> None:
    with pytest.raises(ValueError, match=f"expected a PRNG key for each of the {N} layers"):
        snn.ArrayStacked.init(N, Mixer)(key=jr.key(0))
    if HERE:
        weights = haliax().nn.ArrayStacked.init(N, Mixer)(key=jr.key(0)).stacked.linear.weight
        assert bool(jnp.all(weights == weights[0]))


def test_an_axis_is_for_keyword_arguments_too_where_haliax_shares_them() -> None:
    """Its page says that "all extra args" are taken apart; what it does is not an error and not what `jax.vmap` does."""

    def each(layer: Any, x: Any, *, shift: Any) -> Any:
        return layer(x) + shift.sum()

    def summed(shift_of: Callable[[int], Any]) -> Any:
        return loop(mixers(), X, lambda layer, x, i: each(layer, x, shift=shift_of(i)))

    assert_close(ours(mixers()).fold_via(each, in_axes=0)(X, shift=SHIFTS), summed(lambda i: SHIFTS[i]))
    if HERE:
        assert_close(theirs(mixers()).fold_via(each, in_axes=0)(X, shift=SHIFTS), summed(lambda i: SHIFTS))


@pytest.mark.parametrize("count", [5, 7])
def test_a_number_of_chunks_need_not_divide_the_layers_where_haliax_raises(count: int) -> None:
    expected = loop(mixers(count), X, lambda layer, x, i: layer(x))
    assert_close(ours(mixers(count), snn.ScanCheckpointPolicy(nested=2)).fold(X), expected)
    if HERE:
        with pytest.raises(ValueError):
            theirs(mixers(count), haliax().nn.ScanCheckpointPolicy(nested=2)).fold(X)


def test_a_policy_can_be_hashed_where_that_of_haliax_cannot() -> None:
    assert hash(snn.ScanCheckpointPolicy(save_block_internals=["y"])) == hash(  # type: ignore[arg-type]
        snn.ScanCheckpointPolicy(save_block_internals=("y",))
    )
    if HERE:
        with pytest.raises(TypeError, match="unhashable"):
            hash(haliax().nn.ScanCheckpointPolicy(save_block_internals=["y"]))
