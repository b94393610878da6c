"""The state of an optimiser, saved with its model: moments, masks, groups and counters are converted with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import pytest

from scanify.nn import ArrayStacked, BlockSeq, load_unstacked
from scanify.optim import label_tree, per_layer, weight_decay_mask
from tests.checkpoints.models import listed, with_layers
from tests.checkpoints.test_leaves import round_trip

optax = pytest.importorskip("optax", reason="the states are those of optax")


def _groups(params: Any) -> Any:
    return label_tree(lambda path, leaf: "matrix" if leaf is not None and leaf.ndim > 1 else "vector", params)


STATES: dict[str, Callable[[], Any]] = {
    "moments and a mask": lambda: optax.adamw(1e-3, mask=weight_decay_mask),
    "groups": lambda: optax.multi_transform({"matrix": optax.adam(1e-3), "vector": optax.sgd(0.1, 0.9)}, _groups),
    "one by one": lambda: per_layer(optax.lamb(1e-3)),
    "factored": lambda: per_layer(optax.adafactor(1e-3, min_dim_size_to_factor=2)),
}


def run(optimizer: Any, model: Any) -> Any:
    """A model and its state after one step, so that no moment is zero."""
    params = eqx.filter(model, eqx.is_inexact_array)
    return model, jax.jit(optimizer.update)(params, optimizer.init(params), params)[1]


@pytest.mark.parametrize("name", STATES)
def test_a_state_and_its_model_both_ways(tmp_path: Path, name: str) -> None:
    optimizer = STATES[name]()
    before, after = run(optimizer, listed()), run(optimizer, with_layers(listed(), ArrayStacked.of))
    like = eqx.filter_eval_shape(lambda: after)
    eqx.tree_serialise_leaves(tmp_path / "saved.eqx", before)
    loaded = load_unstacked(tmp_path / "saved.eqx", like)
    assert jax.tree.structure(loaded) == jax.tree.structure(after)
    assert all(map(_close, jax.tree.leaves(loaded), jax.tree.leaves(after)))
    round_trip(tmp_path, before, loaded)


def test_groups_of_layers_that_are_not_alike(tmp_path: Path) -> None:
    optimizer = STATES["moments and a mask"]()
    before, after = run(optimizer, listed()), run(optimizer, with_layers(listed(), BlockSeq.of))
    eqx.tree_serialise_leaves(tmp_path / "saved.eqx", before)
    round_trip(tmp_path, before, load_unstacked(tmp_path / "saved.eqx", after))


def _close(one: Any, other: Any) -> bool:
    if not eqx.is_array(one):
        return bool(one == other)
    return one.dtype == other.dtype and bool(abs(one.astype(float) - other.astype(float)).max() < 1e-6)
