"""Fourier layers zipped with an MLP and a residual connection each."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    blocks = module.FNOBlocks(
        key=jax.random.key(0), n_layers=4, in_channels=8, out_channels=8, modes=(4,), use_channel_mlp=True
    )
    return blocks, (jnp.sin(jnp.arange(256.0)).reshape(8, 32),), {"inference": True}


def by_hand(stack: Any, blocks: Any, x: Any, inference: bool) -> Any:
    def step(layer: Any, x: Any, mlp: Any, residual: Any) -> Any:
        x = layer(x)
        return mlp(x, key=None, inference=inference) + residual(x)

    mlps, residuals = stack(blocks.channel_mlps), list(blocks.channel_mlp_residuals)
    return stack(blocks.fno_layers).fold_via(step, in_axes=(0, 0))(x, mlps, residuals)
