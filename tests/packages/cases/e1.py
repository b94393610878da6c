"""Attention within a sequence and, in every third layer, across sequences: what differs is a string and a number."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

TOKENS = 12


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model = module.E1(dim=32, num_heads=2, ff_dim=64, num_layers=6, key=jax.random.key(0))
    places = jnp.arange(TOKENS)
    return model, (places * 7 % 20, places % 6, places, places // 6, places < 11)


def by_hand(stack: Any, model: Any, tokens: Any, indexes: Any, places: Any, sequences: Any, padding: Any) -> Any:
    def step(layer: Any, x: Any) -> Any:
        return layer(x, indexes, places, sequences, padding)

    x = jax.vmap(model.token_embed)(tokens) + jax.vmap(model.sequence_embed)(sequences)
    x = jax.vmap(model.norm)(stack(model.layers).fold_via(step)(x))
    return model.mlm_head(x), x
