"""A list of widths makes the layers: the first is as wide as the others, by its Fourier features."""

from types import ModuleType
from typing import Any

import jax.numpy as jnp
from flax import nnx


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model = module.ModifiedMLP(8, 1, hidden_dim=8, num_layers=4, rngs=nnx.Rngs(0))
    return model, (jnp.linspace(-1.0, 1.0, 40).reshape(5, 8),)
