"""DistilBERT, with the states between its layers."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    config = module.DistilBertConfig(dim=8, n_layers=4, n_heads=2, hidden_dim=16)
    x = jax.random.normal(jax.random.key(1), (2, 5, 8))
    given = {"output_attentions": False, "output_hidden_states": True, "return_dict": False}
    return module.FlaxTransformer(config), (x, jnp.ones((2, 5))), given
