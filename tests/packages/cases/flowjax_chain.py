"""Affine bijections in a chain, whose log determinants are summed into a carry that starts as the number 0."""

from types import ModuleType
from typing import Any

import jax.numpy as jnp
from flowjax.bijections import Affine
from paramax import unwrap

from tests.packages.applied import applied


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    chain = module.Chain([Affine(jnp.full(3, 0.5 * i), jnp.full(3, i + 1.0)) for i in range(4)])
    return applied(lambda chain, x: unwrap(chain).transform_and_log_det(x), chain), (jnp.linspace(-1, 1, 3),)


def by_hand(stack: Any, model: Any, x: Any) -> Any:
    def step(bijection: Any, carry: Any) -> Any:
        x, log_det = carry
        x, more = bijection.transform_and_log_det(x, None)
        return x, log_det + more.sum()

    return stack(unwrap(model.model).bijections).fold_via(step)((x, jnp.zeros(())))
