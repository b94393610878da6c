"""Convolutions, the first and the last of other widths than those between; an activation after all but the last."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    net = module.ConvNet(1, 1, 1, hidden_channels=8, depth=5, boundary_mode="periodic", key=jax.random.key(0))
    return net, (jnp.sin(jnp.arange(32.0))[None],)


def by_hand(stack: Any, net: Any, x: Any) -> Any:
    x = stack(net.layers[:-1]).fold_via(lambda layer, x: net.activation(layer(x)))(x)
    return net.final_activation(net.layers[-1](x))
