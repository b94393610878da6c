"""`fold`, `scan` and `map` over a `BlockSeq` whose layers differ are the loop over those layers."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

import scanify.nn as snn
from scanify.nn import ArrayStacked, BlockSeq
from tests.nn.test_functional import assert_close

pytestmark = pytest.mark.usefixtures("float64")

D = 3


class Dense(eqx.Module):
    weight: jax.Array
    activation: Callable[..., Any]
    rate: float

    def __call__(self, x: Any) -> Any:
        return self.activation(self.weight @ x) * self.rate


class Wide(eqx.Module):
    """A layer with arrays of other shapes."""

    up: jax.Array
    down: jax.Array

    def __call__(self, x: Any) -> Any:
        return x + self.down @ jnp.sin(self.up @ x)


def layers(count: int = 6) -> list[Any]:
    keys = jr.split(jr.key(0), count)
    dense = [Dense(jr.normal(key, (D, D)), [jnp.tanh, jnp.sin][at % 2], 0.1 * at) for at, key in enumerate(keys)]
    wide = [Wide(jr.normal(key, (2 * D, D)), jr.normal(key, (D, 2 * D))) for key in keys]
    return [wide[at] if at in (1, 4) else dense[at] for at in range(count)]


def step(x: Any, layer: Any, gain: Any, *, other: Any) -> tuple[Any, Any]:
    new = layer(x) * gain["g"] + other.weight.sum()
    return new, new.sum()


def gains() -> Any:
    return jnp.linspace(0.5, 1.5, 6)


def partners() -> list[Dense]:
    return [Dense(jnp.full((D, D), 0.1 * at), jnp.tanh, 0.5) for at in range(6)]


def looped(blocks: list[Any], x: Any, *, reverse: bool = False) -> tuple[Any, Any]:
    ys: dict[int, Any] = {}
    for at in reversed(range(6)) if reverse else range(6):
        x, ys[at] = step(x, blocks[at], {"g": gains()[at]}, other=partners()[at])
    return x, jnp.stack([ys[at] for at in range(6)])


@pytest.mark.parametrize("remat", [False, True, "nested"])
@pytest.mark.parametrize("reverse", [False, True])
def test_values_and_gradients_are_those_of_the_loop(remat: Any, reverse: bool) -> None:
    blocks, others, x = BlockSeq.of(layers()), ArrayStacked.of(partners()), jnp.ones(D)

    def mine(blocks: Any, x: Any) -> Any:
        return snn.scan(step, remat=remat, reverse=reverse)(x, blocks, {"g": gains()}, other=others)

    assert_close(jax.jit(lambda x: mine(blocks, x))(x), looped(layers(), x, reverse=reverse))

    def loss(out: tuple[Any, Any]) -> Any:
        return (out[0] ** 2).sum() + jnp.cos(out[1]).sum()

    grads = eqx.filter_grad(lambda blocks: loss(mine(blocks, x)))(blocks)
    wanted = eqx.filter_grad(lambda blocks: loss(looped(blocks, x, reverse=reverse)))(layers())
    assert_close([jax.tree.leaves(layer) for layer in grads], [jax.tree.leaves(layer) for layer in wanted])


def test_a_fold_and_a_map_and_what_has_no_axis() -> None:
    blocks, x = layers(), jnp.ones(D)
    seen: list[str] = []

    def one(x: Any, layer: Any, name: str) -> Any:
        seen.append(name)
        return layer(x)

    wanted = x
    for layer in blocks:
        wanted = layer(wanted)
    assert_close(snn.fold(one)(x, BlockSeq.of(blocks), "shared"), wanted)
    assert set(seen) == {"shared"}
    assert_close(snn.map(lambda layer: layer(x))(BlockSeq.of(blocks)), jnp.stack([layer(x) for layer in blocks]))


def test_equal_layers_among_them_are_scanned_over() -> None:
    blocks = [Dense(jnp.full((D, D), 0.1 * at), jnp.tanh if at < 8 else jnp.sin, 0.5) for at in range(16)]
    text = str(jax.make_jaxpr(lambda x: snn.fold(lambda x, layer: layer(x))(x, BlockSeq.of(blocks)))(jnp.ones(D)))
    assert text.count("scan[") == 2 and text.count("length=8") == 2


def test_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected 6 steps along axis 0.*got 5"):
        snn.fold(lambda x, layer, gain: layer(x) * gain)(jnp.ones(D), BlockSeq.of(layers()), jnp.ones(5))


def test_a_function_that_gives_no_pair_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a layer to give a pair"):
        snn.scan(lambda x, layer: layer(x))(jnp.ones(D), BlockSeq.of(layers()))
