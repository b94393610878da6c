"""A transformer decoder, which looks at what an encoder has made."""

from types import ModuleType
from typing import Any

import jax
from flax import nnx


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = module.TransformerDecoder(
        num_layers=3, hidden_dim=16, num_heads=2, mlp_ratio=2.0, rngs=nnx.Rngs(0, dropout=1)
    )
    x, encoded = (jax.random.normal(jax.random.key(seed), (2, 6, 16)) for seed in (1, 2))
    return model, (x, encoded), {"deterministic": True}
