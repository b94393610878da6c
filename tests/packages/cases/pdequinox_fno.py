"""Fourier blocks of one width, in the same loop as the residual network's."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pdequinox

from tests.packages.cases.pdequinox_resnet import by_hand as by_hand


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    fno = pdequinox.arch.ClassicFNO(1, 1, 1, num_modes=4, hidden_channels=8, num_blocks=4, key=jax.random.key(0))
    return fno, (jnp.sin(jnp.arange(32.0))[None],)
