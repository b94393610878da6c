"""GPT-2, with the states between its layers."""

from types import ModuleType
from typing import Any

import jax


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.GPT2Config(n_embd=8, n_layer=4, n_head=2, n_positions=8)
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    return module.FlaxGPT2BlockCollection(config), (x,), {"output_hidden_states": True, "return_dict": False}
