"""A transformer encoder with dropout."""

from types import ModuleType
from typing import Any

import jax
from flax import nnx


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model = module.TransformerEncoder(
        num_layers=3, hidden_dim=16, num_heads=2, mlp_ratio=2.0, dropout_rate=0.1, rngs=nnx.Rngs(0, dropout=1)
    )
    return model, (jax.random.normal(jax.random.key(1), (2, 6, 16)),)
