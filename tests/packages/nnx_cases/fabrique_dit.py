"""Blocks in bfloat16, modulated by the time."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    config = module.DiTConfig(hidden_size=16, depth=3, num_heads=2, freq_embed_size=8, patch_size=2)
    model = module.DiT(config, rngs=nnx.Rngs(0))
    images = jax.random.normal(jax.random.key(1), (2, 8, 8, config.in_channels))
    cos, sin = module.compute_rope(4, 4, 8)
    return model, (images, jnp.array([0.2, 0.7]), cos, sin)
