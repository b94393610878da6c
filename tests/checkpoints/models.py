"""Models with lists of layers, and with stacks in their place, that tests save and load."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    """Arrays of several dtypes, a number that is trained and one that is not."""

    linear: eqx.nn.Linear
    scale: jax.Array
    seen: jax.Array
    rate: float
    heads: int

    def __init__(self, key: jax.Array) -> None:
        self.linear = eqx.nn.Linear(3, 3, key=key)
        self.scale = jax.random.normal(key, (2,), jnp.bfloat16)
        self.seen = jax.random.randint(key, (), 0, 100)[None]
        self.rate, self.heads = 0.1, 4


class Outer(eqx.Module):
    inner: Any
    bias: jax.Array


class Model(eqx.Module):
    embed: eqx.nn.Linear
    layers: Any
    head: eqx.nn.Linear


def listed(count: int = 4, seed: int = 0) -> Model:
    keys = jax.random.split(jax.random.key(seed), count + 2)
    return Model(eqx.nn.Linear(2, 3, key=keys[0]), [Block(key) for key in keys[2:]], eqx.nn.Linear(3, 2, key=keys[1]))


def nested(kind: Callable[[Any], Any], seed: int = 0) -> Model:
    """Three layers that hold two each; `kind` makes what holds them."""
    keys = jax.random.split(jax.random.key(seed), 5)
    outer = [Outer(kind([Block(k) for k in jax.random.split(key, 2)]), jnp.ones(2)) for key in keys[2:]]
    return Model(eqx.nn.Linear(2, 3, key=keys[0]), kind(outer), eqx.nn.Linear(3, 2, key=keys[1]))


def with_layers(model: Model, kind: Callable[[Any], Any]) -> Model:
    return eqx.tree_at(lambda m: m.layers, model, kind(list(model.layers)))
