"""Patches of an image, and blocks with dropout."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = module.DiffusionTransformer(
        img_size=8, patch_size=2, hidden_size=16, depth=3, num_heads=2, dropout_rate=0.1, rngs=nnx.Rngs(0, dropout=1)
    )
    images = jax.random.normal(jax.random.key(1), (2, 8, 8, 3))
    return model, (images, jnp.array([3.0, 40.0])), {"deterministic": False}
