"""A transformer of dicts of arrays, with an energy at its end."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    params = module._init_params(16, 2, 3, 12, 32, jax.random.key(0))
    return jax.tree_util.Partial(module._forward, params), (jnp.arange(10) * 7 % 32,), {"n_heads": 2}
