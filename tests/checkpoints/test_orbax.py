"""Folders of orbax, where it is installed: what it restores of what is converted."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import ArrayStacked
from tests.checkpoints.models import Model, with_layers
from tests.command import Tool

ocp: Any = pytest.importorskip(
    "orbax.checkpoint", reason="orbax and tensorstore are heavy: pip install orbax-checkpoint to run these"
)
pytestmark = pytest.mark.filterwarnings("default")


def listed(seed: int = 0) -> Model:
    """Layers with arrays of two dtypes, and a None."""
    first, *keys = jax.random.split(jax.random.key(seed), 4)
    layers = [eqx.nn.Linear(3, 3, use_bias=False, dtype=jnp.bfloat16, key=key) for key in keys]
    return Model(eqx.nn.Linear(2, 3, key=first), layers, eqx.nn.Linear(3, 2, key=first))


KINDS = (list, ArrayStacked.of)


def scaled(kind: Any, seed: jax.Array) -> Any:
    model = with_layers(listed(), kind)
    return jax.tree.map(lambda x: x * (seed + 1).astype(x.dtype) if eqx.is_array(x) else x, model)


def save(path: Path, tree: Any) -> None:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree)


def restore(path: Path, like: Any) -> Any:
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(path, like)


def state(model: Any, seed: int = 0) -> Any:
    """A training state: parameters, moments, counters."""
    params = eqx.filter(model, eqx.is_array)
    moments = jax.tree.map(lambda x: x * 2, params)
    return {"model": params, "opt": [{"mu": moments}, None], "count": jnp.array(7), "step": 3, "rate": 0.5}


def test_both_ways_with_moments(tool: Tool) -> None:
    old, new = state(listed(seed=1)), state(with_layers(listed(seed=1), ArrayStacked.of))
    save(tool.folder / "old", old)
    done = tool("convert", "old", "new", "--stack", "*layers=*layers.stacked", "--axis", "0")
    assert done.code == 0, done.err
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) if eqx.is_array(x) else x, new)
    assert eqx.tree_equal(restore(tool.folder / "new", like), new)
    done = tool("convert", "new", "back", "--unstack", "*layers.stacked=*layers", "--axis", "0")
    assert done.code == 0, done.err
    assert eqx.tree_equal(restore(tool.folder / "back", old), old)
    assert isinstance(ocp.StandardCheckpointer().restore(tool.folder / "back")["model"]["layers"], list)


def test_keys_and_missing_layers_are_refused(tool: Tool) -> None:
    save(tool.folder / "old", {"layers": {"0": np.ones(2), "2": np.ones(2)}, "a": np.ones(1)})
    done = tool("convert", "old", "new", "--stack", "layers")
    assert (done.code, "there is no array of layer 1" in done.err) == (2, True)
    save(tool.folder / "keys", {"layers": [np.ones(2)], "key": jax.random.key(0)})
    done = tool("convert", "keys", "new", "--stack", "layers")
    assert (done.code, "'key' is a PRNG key array" in done.err) == (2, True)
    assert not (tool.folder / "new").exists()


def test_an_ensemble(tool: Tool) -> None:
    """Each array of the stack is made of those of all layers by turns."""
    members = {kind: eqx.filter_vmap(lambda seed, kind=kind: scaled(kind, seed))(jnp.arange(4)) for kind in KINDS}
    old, new = (state(members[kind]) for kind in KINDS)
    save(tool.folder / "old", old)
    done = tool("convert", "old", "new", "--stack", "*layers=*layers.stacked", "--axis", "1")
    assert done.code == 0, done.err
    like = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) if eqx.is_array(x) else x, new)
    assert eqx.tree_equal(restore(tool.folder / "new", like), new)
