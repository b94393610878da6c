"""Encoder layers with dropout, each with its own key."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

WIDTH, TOKENS = 16, 6


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    encoder = module.TransformerEncoder(
        d_model=WIDTH,
        n_heads=2,
        num_layers=4,
        dim_feedforward=32,
        dropout_p=0.1,
        key=jax.random.key(0),
        dtype=jnp.float32,
    )
    x = jnp.sin(jnp.arange(TOKENS * WIDTH, dtype=jnp.float32)).reshape(TOKENS, WIDTH)
    return encoder, (x,), {"key": jax.random.key(1)}


def by_hand(stack: Any, encoder: Any, x: Any, key: Any) -> Any:
    def step(layer: Any, x: Any, key: Any) -> Any:
        return layer(x, key=key)

    keys = jax.random.split(key, len(encoder.layers))
    return jax.vmap(encoder.norm)(stack(encoder.layers).fold_via(step, in_axes=(0,))(x, keys))
