"""The first stage of a ConvNeXt, a Sequential: its blocks differ in the rate of their stochastic depth, the first has 0.

The whole model raises in its own head.
"""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    model = module.ConvNeXt(
        [module.CNBlockConfig(8, 16, 5), module.CNBlockConfig(16, None, 2)],
        stochastic_depth_prob=0.2,
        block=None,
        norm_layer=None,
        inference=False,
        layer_scale=1e-6,
        num_classes=4,
        key=jax.random.key(0),
        dtype=jnp.float32,
    )
    x = jnp.sin(jnp.arange(512.0)).reshape(8, 8, 8)
    return model.features.layers[1], (x,), {"key": jax.random.key(1)}


def by_hand(stack: Any, stage: Any, x: Any, key: Any) -> Any:
    def step(block: Any, x: Any, key: Any) -> Any:
        return block(x, key=key)

    return stack(stage.layers).fold_via(step, in_axes=(0,))(x, jax.random.split(key, len(stage.layers)))
