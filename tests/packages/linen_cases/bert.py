"""BERT in training, with dropout."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.BertConfig(hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16)
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    given = {"deterministic": False, "rngs": {"dropout": jax.random.key(2)}, "return_dict": False}
    return module.FlaxBertLayerCollection(config), (x, jnp.ones((2, 5)), None), given
