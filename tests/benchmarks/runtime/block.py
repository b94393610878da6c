"""The layer that is measured: a pre-norm transformer block, and the sizes it is measured at."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Sizes:
    """Width, heads, batch and sequence length of one measurement; float32 throughout."""

    name: str
    dim: int
    heads: int
    batch: int
    length: int


# Parameters outweigh the carry (3 MB a layer against 8 KB), and the other way round (0.2 MB against 0.5 MB).
SIZES = (
    Sizes("parameters", dim=256, heads=4, batch=1, length=8),
    Sizes("activations", dim=64, heads=4, batch=16, length=128),
)


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    qkv: eqx.nn.Linear
    out: eqx.nn.Linear
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, sizes: Sizes, *, key):
        k1, k2, k3, k4 = jax.random.split(key, 4)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(sizes.dim), eqx.nn.LayerNorm(sizes.dim)
        self.qkv = eqx.nn.Linear(sizes.dim, 3 * sizes.dim, key=k1)
        self.out = eqx.nn.Linear(sizes.dim, sizes.dim, key=k2)
        self.up = eqx.nn.Linear(sizes.dim, 4 * sizes.dim, key=k3)
        self.down = eqx.nn.Linear(4 * sizes.dim, sizes.dim, key=k4)
        self.heads = sizes.heads

    def __call__(self, x):
        """One block on a batch of sequences, `(batch, length, dim)` to the same."""
        return jax.vmap(self._sequence)(x)

    def _sequence(self, x):
        q, k, v = jnp.split(jax.vmap(self.qkv)(jax.vmap(self.norm1)(x)), 3, axis=-1)
        q, k, v = (part.reshape(x.shape[0], self.heads, -1) for part in (q, k, v))
        scores = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])
        mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v).reshape(x.shape)
        x = x + jax.vmap(self.out)(mixed)
        return x + jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(jax.vmap(self.norm2)(x))))


def layers(sizes: Sizes, count: int) -> list[Block]:
    return [Block(sizes, key=key) for key in jax.random.split(jax.random.key(0), count)]


def batch(sizes: Sizes) -> jax.Array:
    return jax.random.normal(jax.random.key(1), (sizes.batch, sizes.length, sizes.dim))
