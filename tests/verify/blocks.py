"""Small Equinox models for the tests of the prover, as people write them, and their loops and scans written by hand."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

WIDTH, HEADS, TIME, LAYERS = 8, 2, 5, 5


class Attention(eqx.Module):
    qkv: eqx.nn.Linear
    out: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, heads: int, key: jax.Array) -> None:
        k1, k2 = jax.random.split(key)
        self.qkv = eqx.nn.Linear(width, 3 * width, key=k1)
        self.out = eqx.nn.Linear(width, width, key=k2)
        self.heads = heads

    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        time, width = x.shape
        q, k, v = jnp.split(jax.vmap(self.qkv)(x), 3, axis=-1)
        q, k, v = (a.reshape(time, self.heads, -1).transpose(1, 0, 2) for a in (q, k, v))
        scores = jnp.einsum("htd,hsd->hts", q, k) / jnp.sqrt(width // self.heads)
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        mixed = jnp.einsum("hts,hsd->htd", weights, v).transpose(1, 0, 2).reshape(time, width)
        return jax.vmap(self.out)(mixed)


class Block(eqx.Module):
    attention: Attention
    norm: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    dropout: eqx.nn.Dropout
    scale: jax.Array

    def __init__(self, rate: float, key: jax.Array) -> None:
        k1, k2, k3 = jax.random.split(key, 3)
        self.attention = Attention(WIDTH, HEADS, k1)
        self.norm = eqx.nn.LayerNorm(WIDTH)
        self.up = eqx.nn.Linear(WIDTH, 2 * WIDTH, key=k2)
        self.down = eqx.nn.Linear(2 * WIDTH, WIDTH, key=k3)
        self.dropout = eqx.nn.Dropout(rate)
        self.scale = jnp.ones(WIDTH)

    def __call__(self, x: jax.Array, mask: jax.Array, key: jax.Array) -> jax.Array:
        k1, k2 = jax.random.split(key)
        h = self.attention(jax.vmap(self.norm)(x), mask)
        x = x + self.dropout(h, key=k1)
        h = jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(x)))
        return x + self.dropout(h, key=k2) * self.scale


def blocks(rates: tuple[float, ...] = (0.1,) * LAYERS) -> list[Block]:
    return [Block(rate, jax.random.key(index)) for index, rate in enumerate(rates)]


Arguments = tuple[list[Block], jax.Array, jax.Array, jax.Array]


def arguments(*, raw: bool = False, rates: tuple[float, ...] = (0.1,) * LAYERS) -> Arguments:
    """(layers, x, mask, key): a causal mask, a typed or a raw key."""
    key = jax.random.PRNGKey(7) if raw else jax.random.key(7)
    return blocks(rates), jnp.ones((TIME, WIDTH)), jnp.tril(jnp.ones((TIME, TIME), bool)), key


def loop(layers: list[Block], x: jax.Array, mask: jax.Array, key: jax.Array) -> jax.Array:
    keys = jax.random.split(key, len(layers))
    for layer, k in zip(layers, keys, strict=True):
        x = layer(x, mask, k)
    return x * 2.0


def stacked(layers: list[Any]) -> Any:
    """The layers as one, every array with a leading axis; other leaves are those of layer 0."""
    arrays = [eqx.filter(layer, eqx.is_array) for layer in layers]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), eqx.filter(layers[0], eqx.is_array, inverse=True)


def scan(remat: Any = None, chunk: int = 0) -> Callable[..., jax.Array]:
    """The same as `loop`. remat: None, "full", or a policy; chunk: layers per inner scan of nested remat, with a remainder."""

    def run(layers: list[Block], x: jax.Array, mask: jax.Array, key: jax.Array) -> jax.Array:
        arrays, static = stacked(layers)
        xs = (arrays, jax.random.split(key, len(layers)))

        def body(carry: jax.Array, row: Any) -> tuple[jax.Array, None]:
            leaves, k = row
            return eqx.combine(leaves, static)(carry, mask, k), None

        step = body
        if remat == "full":
            step = jax.checkpoint(body, prevent_cse=False)
        elif remat is not None:
            step = jax.checkpoint(body, prevent_cse=False, policy=remat)
        if not chunk:
            return lax.scan(step, x, xs)[0] * 2.0
        whole = len(layers) // chunk * chunk

        @jax.checkpoint
        def outer(carry: jax.Array, rows: Any) -> tuple[jax.Array, None]:
            return lax.scan(step, carry, rows)[0], None

        chunks = jax.tree.map(lambda a: a[:whole].reshape(-1, chunk, *a.shape[1:]), xs)
        x, _ = lax.scan(outer, x, chunks)
        if whole < len(layers):
            x, _ = lax.scan(step, x, jax.tree.map(lambda a: a[whole:], xs))
        return x * 2.0

    return run


def leaves_of(args: Arguments) -> tuple[list[jax.Array], Callable[..., Any], list[str], list[int | None]]:
    """The array leaves of the arguments, a function that puts them back, their key paths and their layers."""
    arrays, rest = eqx.partition(args, eqx.is_array)
    leaves, tree = jax.tree.flatten(arrays)
    names, layers = [], []
    for path, _ in jax.tree_util.tree_flatten_with_path(arrays)[0]:
        inside = path[0].idx == 0
        names.append(".blocks" + jax.tree_util.keystr(path[1:]) if inside else ("x", "mask", "key")[path[0].idx - 1])
        layers.append(path[1].idx if inside else None)
    return leaves, lambda given: eqx.combine(jax.tree.unflatten(tree, given), rest), names, layers


def traced(function: Callable[..., Any], args: Arguments) -> Any:
    """The outputs of a function of (layers, x, mask, key), as a jaxpr of the leaves."""
    leaves, join, _, _ = leaves_of(args)
    return jax.make_jaxpr(lambda given: function(*join(given)))(leaves)


def traced_vjp(function: Callable[..., Any], args: Arguments) -> Any:
    """The gradients with respect to every float leaf, as a jaxpr of the leaves and the cotangents."""
    leaves, join, _, _ = leaves_of(args)
    floats = [jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves]
    cotangents = jax.eval_shape(lambda given: function(*join(given)), leaves)

    def gradients(given: list[jax.Array], cts: Any) -> Any:
        def of_floats(values: list[jax.Array]) -> Any:
            values = iter(values)
            return function(*join([next(values) if f else leaf for f, leaf in zip(floats, given, strict=True)]))

        return jax.vjp(of_floats, [leaf for f, leaf in zip(floats, given, strict=True) if f])[1](cts)

    return jax.make_jaxpr(gradients)(leaves, cotangents)
