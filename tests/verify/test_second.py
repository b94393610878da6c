"""Second derivatives: scans over identical layers are proved under every policy, and what differs in them alone is not."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import scanify
from scanify.nn import ArrayStacked
from scanify.verify.verdict import Status, Verdict

KEYS = jax.random.split(jax.random.key(0), 3)
X = jnp.arange(4.0) / 3
stopped = jax.lax.stop_gradient


class Block(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    act: Callable[..., Any] = eqx.field(static=True)

    def __init__(self, act: Callable[..., Any], key: jax.Array) -> None:
        self.linear, self.dropout, self.act = eqx.nn.Linear(4, 4, key=key), eqx.nn.Dropout(0.5), act

    def __call__(self, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        y = self.act(self.linear(x))
        return x + (y if key is None else self.dropout(y, key=key))


class Attention(eqx.Module):
    heads: eqx.nn.MultiheadAttention
    norm: eqx.nn.LayerNorm

    def __init__(self, _: Any, key: jax.Array) -> None:
        self.heads, self.norm = eqx.nn.MultiheadAttention(2, 4, key=key), eqx.nn.LayerNorm(4)

    def __call__(self, x: jax.Array) -> jax.Array:
        y = jax.vmap(self.norm)(x)
        return x + self.heads(y, y, y)


def layers(kind: Any = Block, act: Callable[..., Any] = jnp.tanh) -> list[Any]:
    return [kind(act, key) for key in KEYS]


def looped(blocks: list[Any], x: jax.Array) -> jax.Array:
    for block in blocks:
        x = block(x)
    return x


def scanned(remat: Any) -> Callable[..., jax.Array]:
    return lambda blocks, x: ArrayStacked.of(blocks, gradient_checkpointing=remat).fold(x)


def second(f: Callable[..., Any], g: Callable[..., Any], *args: Any) -> Verdict:
    return dict(scanify.prove_equal(f, g, *args, up_to=2).checks)["second derivatives"]


def inner_scan(x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda c, t: (jnp.sin(c + t), c * t), x, jnp.arange(3.0))[0]


ACTS = {
    "relu": jax.nn.relu,
    "softmax": jax.nn.softmax,
    "a choice": lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "an inner scan": inner_scan,
}


@pytest.mark.parametrize("remat", [False, "full", "nested"])
@pytest.mark.parametrize("kind", [Block, Attention])
def test_scans_over_identical_layers_are_proved(kind, remat):
    x = X if kind is Block else jnp.ones((3, 4)) * X
    assert second(looped, scanned(remat), layers(kind), x).status is Status.PROVED


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_whatever_their_layers_compute(act):
    found = second(looped, scanned("full"), layers(act=act), X)
    # The derivative of `relu` is a select in a loop of jax 0.10 and a product under its remat: the same to the last bit.
    proved = act is not jax.nn.relu or jax.__version_info__ >= (0, 11)
    assert found.status is (Status.PROVED if proved else Status.TESTED), found.reason
    assert proved or "float64 bit for bit equal" in found.reason


def test_sums_over_layers_and_keys_are_proved():
    def loop(blocks, x, keys):
        penalty = 0.0
        for block, key in zip(blocks, keys, strict=True):
            x, penalty = block(x, key), penalty + jnp.sum(x**2)
        return x, penalty

    def scan(blocks, x, keys):
        def step(block, carry, key):
            x, penalty = carry
            return block(x, key), penalty + jnp.sum(x**2)

        return ArrayStacked.of(blocks).fold_via(step, in_axes=((0,), {}))((x, jnp.zeros(())), keys)

    assert second(loop, scan, layers(), X, KEYS).status is Status.PROVED


def reversed_layers(blocks, x):
    return ArrayStacked.of(blocks[::-1]).fold(x)


def residuals_stopped(blocks, x):
    """The first derivative of each product is that of `product`, the second is not."""
    for block in blocks:
        y = block(x)
        x = x * stopped(y) + stopped(x) * y
    return x


def product(blocks, x):
    def step(block, x):
        y = block(x)
        return x * y + stopped(x) * stopped(y)

    return ArrayStacked.of(blocks).fold_via(step)(x)


def other_rule(sign):
    """Cubes whose derivative somebody wrote, so that the second is the cube's or its opposite."""

    @jax.custom_jvp
    def slope(x):
        return 3 * x * x

    slope.defjvp(lambda primals, tangents: (slope(*primals), sign * 6 * primals[0] * tangents[0]))

    @jax.custom_jvp
    def cube(x):
        return x * x * x

    cube.defjvp(lambda primals, tangents: (cube(*primals), slope(*primals) * tangents[0]))
    return cube


def ruled(sign):
    cube = other_rule(sign)
    return lambda blocks, x: ArrayStacked.of(blocks).fold_via(lambda block, x: block(cube(x)))(x)


@pytest.mark.parametrize(
    ("f", "g"),
    [(looped, reversed_layers), (residuals_stopped, product), (ruled(1), ruled(-1))],
    ids=["another order of layers", "stopped residuals", "the rule of a rule"],
)
def test_what_differs_is_not_proved(f, g):
    found = second(f, g, layers(), X)
    assert found.status in (Status.FAILED, Status.NOT_RUN), found  # not run: the outputs differ already


def test_stopped_residuals_show_in_second_derivatives_alone():
    checks = dict(scanify.prove_equal(residuals_stopped, product, layers(), X, up_to=2).checks)
    assert {name for name, verdict in checks.items() if not verdict.good} == {"second derivatives"}


def test_with_cotangents_that_do_not_move_a_scan_has_terms_that_its_loop_lacks():
    """Zero times an infinite first derivative: why the cotangents move, too, in what is compared."""

    def power(block, x):
        return block * jax.lax.integer_pow(x, 4)

    def loop(blocks, x):
        for block in blocks:
            x = power(block, x)
        return x

    def scan(blocks, x):
        return jax.lax.scan(lambda x, block: (power(block, x), None), x, jnp.stack(blocks))[0]

    blocks, x, move = [jnp.ones(1)], jnp.full(1, 5e12), jnp.ones(1)
    plain, carried = (jax.jvp(jax.grad(lambda x, f=f: f(blocks, x).sum()), (x,), (move,))[1] for f in (loop, scan))
    assert jnp.isfinite(plain).all() and jnp.isnan(carried).all()
    assert second(loop, scan, blocks, x).status is Status.PROVED
