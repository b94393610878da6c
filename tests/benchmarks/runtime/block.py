"""The layers that are measured: a pre-norm transformer block and an MLP, and the sizes they are measured at."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Sizes:
    """Width, heads, batch and sequence length of one measurement; float32 throughout. Without heads it is an MLP."""

    name: str
    dim: int
    heads: int
    batch: int
    length: int


# Transformer blocks whose parameters outweigh the carry (3 MB a layer against 8 KB) and whose activations do (0.2 MB
# of parameters; a carry of 0.5 MB and, in the backward pass of one layer, some 34 MB beside it), and an MLP of which
# little but the carry is kept (0.1 MB of parameters, a carry of 1 MB).
SIZES = (
    Sizes("parameters", dim=256, heads=4, batch=1, length=8),
    Sizes("activations", dim=64, heads=4, batch=16, length=128),
    Sizes("carries", dim=64, heads=0, batch=1, length=4096),
)
# A block of GPT-2's smallest (Radford et al. 2019, table 2: width 768, 12 heads), for an accelerator.
ON_ACCELERATOR = (Sizes("gpt2", dim=768, heads=12, batch=8, length=512),)


class MLP(eqx.Module):
    up: jax.Array
    down: jax.Array

    def __init__(self, sizes: Sizes, *, key):
        up, down = jax.random.split(key)
        self.up = jax.random.normal(up, (sizes.dim, 4 * sizes.dim)) / sizes.dim**0.5
        self.down = jax.random.normal(down, (4 * sizes.dim, sizes.dim)) / (4 * sizes.dim) ** 0.5

    def __call__(self, x):
        return x + jax.nn.gelu(x @ self.up) @ self.down


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


def layers(sizes: Sizes, count: int) -> list[Block] | list[MLP]:
    return [(Block if sizes.heads else MLP)(sizes, key=key) for key in jax.random.split(jax.random.key(0), count)]


def batch(sizes: Sizes) -> jax.Array:
    return jax.random.normal(jax.random.key(1), (sizes.batch, sizes.length, sizes.dim))
