"""Attention with moving averages; each layer gives its cache beside the hidden state, here None."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from megalodon_jax.config import MegalodonConfig

from tests.packages.applied import applied

SIZES = {
    "vocab_size": 64,
    "model_dim": 32,
    "num_layers": 4,
    "num_heads": 2,
    "z_dim": 16,
    "value_dim": 32,
    "ffn_hidden_dim": 48,
    "cema_ndim": 4,
    "chunk_size": 16,
    "norm_num_groups": 4,
}


def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
    model = module.MegalodonModel(MegalodonConfig(**SIZES, rescale_nffn=True), key=jax.random.key(0))
    tokens = jnp.arange(32).reshape(2, 16) * 5 % 64
    return applied(lambda model, tokens: model(tokens, deterministic=True)[0], model), (tokens,)


class Once(eqx.Module):
    """A sequence of layers over which a loop goes once, with all of them as one layer.

    `caches` has one for each layer, or is None; the loop itself would give the first one.
    """

    layers: Any
    caches: Any = None

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> Any:
        return self.layers[index]

    def __iter__(self) -> Iterator[Any]:
        yield self

    def __call__(self, x: Any, *, cache: Any, key: Any, **shared: Any) -> tuple[Any, Any]:
        def step(layer: Any, x: Any, cache: Any, key: Any) -> tuple[Any, Any]:
            return layer(x, cache=cache, key=key, **shared)

        return self.layers.scan_via(step, in_axes=(0, 0))(x, self.caches, key)


def stacked(stack: Any, model: Any, caches: Any = None) -> Any:
    return eqx.tree_at(lambda model: model.layers, model, Once(stack(model.layers), caches))


def by_hand(stack: Any, applied: Any, tokens: Any) -> Any:
    return stacked(stack, applied.model)(tokens, deterministic=True)[0]
