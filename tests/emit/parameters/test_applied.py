"""Code that applies modules of other libraries to lists of their parameters, as Flax and Haiku do it."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import scanify
from tests.emit.targets.models import loaded, rewritten

LINEN = """\
import flax.linen as nn
import jax


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train: bool):
        h = nn.BatchNorm(use_running_average=not train, momentum=0.9)(nn.Dense(self.width)(x))
        return x + nn.Dropout(0.5, deterministic=not train)(nn.relu(h))


def forward(layers, x, key, train=True):
    block = Block(x.shape[-1])
    stats = []
    for p, k in zip(layers, jax.random.split(key, len(layers))):
        x, updates = block.apply(p, x, train, rngs={"dropout": k}, mutable=["batch_stats"])
        stats.append(updates["batch_stats"])
    return x, stats
"""
LIFTED = """

class Lifted(nn.Module):
    depth: int

    @nn.compact
    def __call__(self, x, train):
        scan = nn.scan(
            lambda block, x, _: (block(x, train), None),
            variable_axes={"params": 0, "batch_stats": 0},
            split_rngs={"params": True, "dropout": True},
            length=self.depth,
        )
        return scan(Block(x.shape[-1], name="layers"), x, None)[0]
"""
HAIKU = """\
import haiku as hk
import jax

block = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x + jax.nn.relu(hk.Linear(3)(x))))


def forward(params, x, key):
    for i in range(len(params)):
        key, sub = jax.random.split(key)
        x = block.apply(params[f"layer_{i}"], sub, x)
    return x
"""
X = jnp.arange(6.0).reshape(2, 3) / 6


@pytest.mark.whole
def test_batch_norm_and_dropout_of_flax(tmp_path: Path) -> None:
    pytest.importorskip("flax", reason="flax is not installed")
    after, _ = rewritten(LINEN, tmp_path, "lax", remat="none")
    assert "jax.lax.scan" in after
    with loaded(LINEN) as module, loaded(after, "after") as other:
        layers = [module.Block(3).init(k, X, False) for k in jax.random.split(jax.random.key(0), 4)]
        given = (layers, X, jax.random.key(1))
        answer = scanify.prove_equal(module.forward, other.forward, *given, up_to=1)
        assert answer, answer.reason


@pytest.mark.parametrize("train", [False, True])
def test_a_lifted_scan_of_flax_beside_its_loop(train: bool) -> None:
    pytest.importorskip("flax", reason="flax is not installed")
    with loaded(LINEN + LIFTED) as module:
        lifted = module.Lifted(4)
        variables = lifted.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, X, True)
        rngs, mutable = {"dropout": jax.random.key(2)}, ["batch_stats"]
        x, updates = lifted.apply(variables, X, train, rngs=rngs, mutable=mutable)
        mean = updates["batch_stats"]["layers"]["BatchNorm_0"]["mean"]
        layers = [
            {name: jax.tree.map(lambda rows, i=i: rows[i], tree["layers"]) for name, tree in variables.items()}
            for i in range(4)
        ]
        y, stats = module.forward(layers, X, jax.random.key(2), train)
        means = jnp.stack([each["BatchNorm_0"]["mean"] for each in stats])
        assert mean.shape == means.shape and jnp.allclose(mean[0], means[0])
        # Flax hashes the path of a module into its keys: what is dropped is another part than in the loop.
        same = [bool(jnp.allclose(one, two)) for one, two in ((x, y), (mean, means))]
        assert same == ([False, False] if train else [True, True])


def test_dropout_of_haiku(tmp_path: Path) -> None:
    pytest.importorskip("haiku", reason="dm-haiku is not installed")
    after, _ = rewritten(HAIKU, tmp_path, "lax", remat="full")
    assert "jax.lax.scan" in after
    with loaded(HAIKU) as module, loaded(after, "after") as other:
        keys = jax.random.split(jax.random.key(0), 4)
        params = {f"layer_{i}": module.block.init(k, X) for i, k in enumerate(keys)}
        answer = scanify.prove_equal(module.forward, other.forward, params, X, jax.random.key(1), up_to=1)
        assert answer, answer.reason
