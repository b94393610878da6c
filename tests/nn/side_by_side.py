"""`scanify.nn.ArrayStacked` and `haliax.nn.ArrayStacked` side by side: how each is made of the same layers, and layers."""

import functools
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import scanify.nn as snn

NO_HALIAX = "haliax with ArrayStacked is not installed (`pip install --no-deps --group haliax`, for Python 3.11 only)"


def _is_here() -> bool:
    try:
        return version("marin-haliax").startswith("0.2.20.")  # later ones have no ArrayStacked
    except PackageNotFoundError:
        return False


HERE = _is_here()
needs_haliax = pytest.mark.skipif(not HERE, reason=NO_HALIAX)
N, D = 4, 3


def haliax() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it imports what newer jax has deprecated
        import haliax
    return haliax


def ours(layers: list[Any], policy: Any = False) -> Any:
    return snn.ArrayStacked.of(layers, gradient_checkpointing=policy)


def theirs(layers: list[Any], policy: Any = False) -> Any:
    """What `haliax.nn.ArrayStacked.init` makes of the same layers: it calls `init` once for each, and stacks them."""

    class Made:
        @staticmethod
        def init(index: Any) -> Any:
            return layers[int(index)]

    return haliax().nn.ArrayStacked.init(len(layers), Made, gradient_checkpointing=policy)(np.arange(len(layers)))


def implementation(name: str) -> SimpleNamespace:
    """The names of one of the two, `ours` or `haliax`; `stack(layers, policy)` makes a stack of layers."""
    if name == "ours":
        return SimpleNamespace(
            ArrayStacked=snn.ArrayStacked,
            Policy=snn.ScanCheckpointPolicy,
            stack=ours,
            name=snn.tree_checkpoint_name,
            scan=lambda f: snn.scan(f),
            fold=lambda f: snn.fold(f),
            map=lambda f: snn.map(f),
        )
    hax = haliax()
    time = hax.Axis("time", 6)
    return SimpleNamespace(
        ArrayStacked=hax.nn.ArrayStacked,
        Policy=hax.nn.ScanCheckpointPolicy,
        stack=theirs,
        name=hax.tree_checkpoint_name,
        scan=lambda f: hax.scan(f, time),
        fold=lambda f: hax.fold(f, time),
        map=lambda f: hax.map(f, time),
    )


class Block(eqx.Module):
    """The block of haliax's page on ArrayStacked."""

    weight: jax.Array

    @staticmethod
    def init(weight: Any) -> "Block":
        return Block(weight=weight)

    def __call__(self, carry: Any, layer_scale: Any, mask: Any) -> Any:
        return carry + self.weight * layer_scale + jnp.sum(mask)


class Mixer(eqx.Module):
    linear: eqx.nn.Linear
    gain: jax.Array

    @staticmethod
    def init(*, key: Any) -> "Mixer":
        return Mixer(eqx.nn.Linear(D, D, key=key), jr.normal(key, (D,)))

    def __call__(self, x: Any, mask: Any = None, *, shift: Any = 0.0) -> Any:
        y = jnp.tanh(self.linear(x)) * self.gain + shift
        return x + (y if mask is None else y * mask)


class Giver(Mixer):
    def __call__(self, x: Any, mask: Any = None, *, shift: Any = 0.0) -> Any:
        new = super().__call__(x, mask, shift=shift)
        return new, {"sum": new.sum(), "old": x}


@functools.cache
def _mixers(count: int, kind: Any) -> tuple[Any, ...]:
    return tuple(kind(eqx.nn.Linear(D, D, key=key), jr.normal(key, (D,))) for key in jr.split(jr.key(0), count))


def mixers(count: int = N, kind: Any = Mixer) -> list[Any]:
    return list(_mixers(count, kind))


X = jnp.arange(1.0, D + 1)


def loop(layers: list[Any], x: Any, each: Callable[[Any, Any, int], Any]) -> Any:
    for index, layer in enumerate(layers):
        x = each(layer, x, index)
    return x


def assert_close(one: Any, other: Any) -> None:
    mine, theirs = jax.tree.leaves(one), jax.tree.leaves(other)
    assert len(mine) == len(theirs) > 0
    for a, b in zip(mine, theirs, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


MASKS, SHIFTS = jnp.linspace(0, 1, N * D).reshape(N, D), jnp.arange(float(N))

POLICIES: dict[str, Callable[[Any], Any]] = {
    "False": lambda policy: False,
    "True": lambda policy: True,
    "full": lambda policy: "full",
    "recompute": lambda policy: "recompute",
    "nested": lambda policy: "nested",
    "offload": lambda policy: "offload",
    "save_all": lambda policy: "save_all",
    "default": lambda policy: policy(),
    "disable": lambda policy: policy(disable=True),
    "simple": lambda policy: policy(simple=True),
    "two chunks": lambda policy: policy(nested=2),
    "names": lambda policy: policy(save_carries=True, save_block_internals=["y"]),
    "offloaded names": lambda policy: policy(save_block_internals=["y"], offload_block_internals=["z"]),
    "no common subexpressions": lambda policy: policy(prevent_cse=True),
    "no carries": lambda policy: policy(save_carries=False, save_inputs=True),
}
