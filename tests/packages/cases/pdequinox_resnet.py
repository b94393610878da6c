"""Residual blocks of one width, between a lifting and a projection."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pdequinox


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    resnet = pdequinox.arch.ClassicResNet(
        1, 1, 1, hidden_channels=8, num_blocks=4, boundary_mode="periodic", key=jax.random.key(0)
    )
    return resnet, (jnp.sin(jnp.arange(32.0))[None],)


def by_hand(stack: Any, resnet: Any, x: Any) -> Any:
    return resnet.projection(stack(resnet.blocks).fold(resnet.lifting(x)))
