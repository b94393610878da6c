"""Residual blocks with gates of the coordinates, each with a number of its own that is learned."""

from types import ModuleType
from typing import Any

import jax.numpy as jnp
from flax import nnx


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model = module.PirateNet(2, 1, hidden_dim=8, num_blocks=3, nonlinearity=0.5, rngs=nnx.Rngs(0))
    return model, (jnp.linspace(-1.0, 1.0, 10).reshape(5, 2),)
