"""Fourier features before the layers: with four of them the first layer has the shape of the others."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    network = module.FourierFCN
    static, trainable = network.init_params(jax.random.key(0), [2, 8, 8, 8, 3], 0.0, 1.0, 4)
    params = {"static": {"network": static}, "trainable": {"network": trainable}}
    return jax.tree_util.Partial(network.network_fn, params), (jnp.array([0.3, -0.7]),)
