"""Llama, with the numbers of its positions."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.LlamaConfig(hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16)
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    positions = jnp.arange(10).reshape(2, 5) % 5
    return module.FlaxLlamaLayerCollection(config), (x, jnp.ones((2, 5)), positions), {"return_dict": False}
