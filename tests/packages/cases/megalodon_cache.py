"""The same model with caches: one for each layer in, and one for each layer out."""

from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from megalodon_jax.config import MegalodonConfig

from tests.packages.applied import applied
from tests.packages.cases.megalodon import SIZES, stacked


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model = module.MegalodonModel(MegalodonConfig(**SIZES), key=jax.random.key(0))
    return applied(twice, model), (jnp.arange(8)[None] * 5 % 64, jnp.array([[7]]))


def twice(model: Any, tokens: Any, following: Any) -> Any:
    """The tokens first, and then the next one with the caches of the first call."""
    _, cache = model(tokens, return_cache=True, deterministic=True)
    return model(following, cache=cache, return_cache=True, deterministic=True)


def by_hand(stack: Any, applied: Any, tokens: Any, following: Any) -> Any:
    model = applied.model
    count = len(model.layers)

    def apart(cache: Any) -> Any:
        """The caches of all layers, which the one turn of the loop gives stacked."""
        (together,) = cache.layer_caches
        caches = tuple(jax.tree.map(lambda x, i=i: x[i], together) for i in range(count))
        return eqx.tree_at(lambda cache: cache.layer_caches, cache, caches)

    _, cache = stacked(stack, model)(tokens, return_cache=True, deterministic=True)
    cache = apart(cache)
    again = stacked(stack, model, list(cache.layer_caches))
    hidden, cache = again(following, cache=cache, return_cache=True, deterministic=True)
    return hidden, apart(cache)
