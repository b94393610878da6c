"""Fourier layers of one width, with complex weights."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    fno = module.FNO(jax.random.key(0), 1, 1, (4,), width=8, depth=4)
    return fno, (jnp.sin(jnp.arange(32.0))[:, None],)


def by_hand(stack: Any, fno: Any, x: Any) -> Any:
    return fno.project(stack(fno.fourier_layers).fold(fno.lift(x)))
