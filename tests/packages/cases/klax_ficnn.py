"""Layers that see the input beside the hidden state; the first has no such input, the last is a scalar."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import klax


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    convex = module.FICNN(3, "scalar", width_sizes=[8, 8, 8, 8], key=jax.random.key(0))
    return klax.finalize(convex), (jnp.linspace(-1, 1, 3),)


def by_hand(stack: Any, convex: Any, x: Any) -> Any:
    return stack(convex.layers).fold_via(lambda layer, y: layer(y, x)[0])(x)
