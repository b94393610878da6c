"""OPT in training, with dropout."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.OPTConfig(
        hidden_size=8,
        num_hidden_layers=4,
        num_attention_heads=2,
        ffn_dim=16,
        word_embed_proj_dim=8,
        max_position_embeddings=16,
    )
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    given = {"deterministic": False, "rngs": {"dropout": jax.random.key(2)}}
    return module.FlaxOPTDecoderLayerCollection(config), (x, jnp.ones((2, 5))), given
