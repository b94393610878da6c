"""What `rewrite` says of checkpoints, done: the command that it names makes one that the rewritten model loads."""

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.nn import from_state_dict, load_unstacked, to_state_dict
from tests.command import MODEL, Tool

# Every third layer is another: a `BlockSeq`.
UNLIKE = MODEL.replace(
    "Block(width, key=k) for k in", "Block(width, key=k) if i % 3 else Other(width, key=k) for i, k in"
)
UNLIKE = UNLIKE.replace("jax.random.split(key, depth)]", "enumerate(jax.random.split(key, depth))]")
UNLIKE = UNLIKE.replace(
    "class Model", "class Other(Block):\n    def __call__(self, x):\n        return self.linear(x)\n\n\nclass Model"
)


def model_of(path: Path, seed: int) -> Any:
    spec = importlib.util.spec_from_file_location(f"of_{path.parent.name}_{seed}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model(3, 5, key=jax.random.key(seed))


def test_arrays_with_names(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    old = model_of(path, 1)
    np.savez(tool.folder / "old.npz", **to_state_dict(old))
    said = tool("rewrite", "model.py").err
    (named,) = re.findall(r"`scanify (convert OLD NEW [^`]*)` makes new ones", said)
    arguments = shlex.split(named.replace("OLD", "old.npz").replace("NEW", "new.npz"))
    assert arguments[-4:] == ["--stack", "*layers", "--axis", "0"]
    assert tool(*arguments).code == 0
    with np.load(tool.folder / "new.npz") as file:
        loaded = from_state_dict(model_of(path, 0), {name: jnp.asarray(x) for name, x in file.items()}, stacked=True)
    assert jnp.array_equal(loaded(jnp.ones(3)), old(jnp.ones(3)))


@pytest.mark.parametrize("text", [MODEL, UNLIKE])
def test_leaves_in_order(tool: Tool, text: str) -> None:
    path = tool.write("model.py", text)
    old = model_of(path, 1)
    eqx.tree_serialise_leaves(tool.folder / "old.eqx", old)
    assert "`scanify convert OLD NEW --" in tool("rewrite", "model.py").err
    loaded = load_unstacked(tool.folder / "old.eqx", model_of(path, 0))
    assert jnp.array_equal(loaded(jnp.ones(3)), old(jnp.ones(3)))


LINEN = """\
import flax.linen as nn


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        for i in range(3):
            x = nn.Dense(4, name=NAME)(x)
        return x
"""


@pytest.mark.parametrize(
    ("name", "stack", "names"),
    [
        ('f"layer_{i}"', "*layer_{}=*layer", ["params.layer_0.kernel", "params.layer_1.kernel"]),
        ('f"layer_{i + 1}"', "*layer_{1}=*layer", ["params.layer_1.kernel", "params.layer_2.kernel"]),
        ("str(i)", "params.{}=params.layers", ["params.0.kernel", "params.1.kernel"]),
    ],
)
def test_modules_of_linen(tool: Tool, name: str, stack: str, names: list[str]) -> None:
    tool.write("model.py", LINEN.replace("NAME", name))
    said = tool("rewrite", "model.py", "--target", "linen", "--unsafe").err
    (named,) = re.findall(r"`scanify (convert OLD NEW [^`]*)` makes new ones", said)
    arguments = shlex.split(named.replace("OLD", "old.npz").replace("NEW", "new.npz"))
    assert arguments[-4:] == ["--stack", stack, "--axis", "0"]
    np.savez(tool.folder / "old.npz", **{each: np.full((4, 4), at) for at, each in enumerate(names)})
    assert tool(*arguments).code == 0
    with np.load(tool.folder / "new.npz") as file:
        assert [file[each].shape for each in file] == [(2, 4, 4)]
        assert list(file) == [f"params.{stack.rpartition('=')[2].lstrip('*').removeprefix('params.')}.kernel"]
