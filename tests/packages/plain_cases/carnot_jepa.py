"""The energy of two embeddings that are joined, each half as wide as a layer."""

import copy
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    made = module.ContextPredictionEnergy(module.JEPAEnergyConfig(embed_dim=4, hidden_dims=[8, 8, 8]))

    def energy(layers: Any, weight: Any, x: Any) -> Any:
        model = copy.copy(made)
        model.layers, model.output_weight = layers, weight
        return model.energy(x)

    return jax.tree_util.Partial(energy, made.layers, jnp.ones(8)), (jnp.linspace(-1.0, 1.0, 8),)
