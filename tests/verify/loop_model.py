"""A small model as a loop, its rewrite, and mistakes in the rewrite, for the tests that compare both versions."""

import jax
import jax.numpy as jnp

from scanify.verify.verdict import Status

SOURCE = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked


class Block(eqx.Module):
    w: jax.Array
    b: jax.Array
    rate: float = eqx.field(static=True)

    def __init__(self, width, rate, *, key):
        self.w = jax.random.normal(key, (width, width))
        self.b = jnp.zeros(width)
        self.rate = rate

    def __call__(self, x, mask, key=None):
        y = jnp.tanh(x @ self.w + self.b) * mask
        if key is not None:
            y = jnp.where(jax.random.bernoulli(key, 1 - self.rate, y.shape), y, 0.0)
        return x + y


class Model(eqx.Module):
    layers: list[Block]
    norm: jax.Array

    def __init__(self, n, width, *, key):
        rates = [0.25] * n
        self.layers = [Block(width, r, key=k) for r, k in zip(rates, jax.random.split(key, n))]
        self.norm = jnp.ones(width)

    def __call__(self, x, mask, *, key=None):
        keys = [None] * 3 if key is None else jax.random.split(key, 3)
        for layer, k in zip(self.layers, keys):
            x = layer(x, mask, k)
        x = x * self.norm
        return x
"""
LIST = "[Block(width, r, key=k) for r, k in zip(rates, jax.random.split(key, n))]"
STACK = f"ArrayStacked.of({LIST}, gradient_checkpointing='nested')"
LOOP = """        for layer, k in zip(self.layers, keys):
            x = layer(x, mask, k)
"""
KEYS = "        keys = [None] * 3 if key is None else jax.random.split(key, 3)\n"
FOLD = """        if key is None:
            x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)
        else:
            x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(x, mask, jax.random.split(key, 3))
"""
REWRITE = {LIST: STACK, KEYS + LOOP: FOLD}
POLICIES = ("none", "nested")
CALL = "x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(x, mask, jax.random.split(key, 3))"
PLAIN = "x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)"
PROVED = {(Status.PROVED, Status.PROVED)}


def case(module, *, dropout=True, n=3, key=jax.random.key, arrays=True):
    """The thunk of a case: a model of `n` layers, in training or not, called with arrays or with a key alone."""

    def build():
        kwargs = {"key": key(7)} if dropout else {}
        x = jnp.linspace(-1.0, 1.0, 8).reshape(2, 4)
        args = (x, jnp.array([1.0, 0.0, 1.0, 1.0])) if arrays else ()
        return module.Model(n, 4, key=jax.random.key(0)), args, kwargs

    return build


def changed(old, new, base=REWRITE):
    """The rewrite with one mistake in it."""
    assert any(old in value for value in base.values()), f"nothing to replace: {old}"
    return {key: value.replace(old, new) for key, value in base.items()}


def statuses(result):
    return {(p.outputs.status, p.gradients.status) for p in result.policies}
