"""The layers of an MLP: the first and the last differ in width, the hidden ones are equal."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    return module.MLP(3, 2, 16, 8, key=jax.random.key(0)), (jnp.linspace(-1, 1, 3),)


def by_hand(stack: Any, mlp: Any, x: Any) -> Any:
    hidden = stack(mlp.layers[:-1]).fold_via(lambda layer, x: jax.vmap(mlp.activation)(layer(x)))(x)
    return jax.vmap(mlp.final_activation)(mlp.layers[-1](hidden))
