"""A model that is an object of its own, with a list of pairs: what is traced are the list and the last layer."""

import copy
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    made = module.GibbsModel(module.GibbsConfig(input_dim=8, hidden_dims=[8, 8, 8]))

    def energy(layers: Any, weight: Any, x: Any) -> Any:
        model = copy.copy(made)
        model.layers, model.output_weight = layers, weight
        return model.energy(x)

    return jax.tree_util.Partial(energy, made.layers, jnp.ones(8)), (jnp.linspace(-1.0, 1.0, 8),)
