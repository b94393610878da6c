"""Triples: each layer has the slopes of its activation."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    # The first layer has as many inputs as each has outputs, so that all hidden layers are of one shape.
    static, trainable = module.AdaptiveFCN.init_params(jax.random.key(0), [8, 8, 8, 8, 3])
    params = {"static": {"network": static}, "trainable": {"network": trainable}}
    return jax.tree_util.Partial(module.AdaptiveFCN.network_fn, params), (jnp.linspace(-1.0, 1.0, 8),)
