"""The text encoder of CLIP."""

from types import ModuleType
from typing import Any

import jax


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.CLIPTextConfig(hidden_size=8, num_hidden_layers=4, num_attention_heads=2, intermediate_size=16)
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    return module.FlaxCLIPLayerCollection(config), (x,), {"return_dict": False}
