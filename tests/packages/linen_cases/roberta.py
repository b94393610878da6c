"""RoBERTa, with the states between its layers."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.RobertaConfig(hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16)
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    given = {"output_hidden_states": True, "return_dict": False}
    return module.FlaxRobertaLayerCollection(config), (x, jnp.ones((2, 5)), None), given
