"""Calls of functions on trees are named for any tree that may hold a model."""

from pathlib import Path

import pytest

from scanify.analysis.index import Index
from scanify.analysis.watchers.find import watchers
from scanify.source.file import Source

HEAD = """\
import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


class Batch(NamedTuple):
    tokens: jax.Array
    mask: Float[Array, "n"] | None


@dataclasses.dataclass
class Scaled:
    batch: Batch
    factors: dict[str, jax.Array]


class State(NamedTuple):
    model: eqx.Module
    step: jax.Array


class Anything(NamedTuple):
    value: Any


class Base(NamedTuple):
    x: jax.Array


class Model(eqx.Module):
    w: jax.Array


class Heir(Base):
    model: Model


"""

UNKNOWN = {
    "a parameter": "def f(t):\n    return LOOK\n",
    "any tree": "def f(t: PyTree):\n    return LOOK\n",
    "a tree of arrays": "def f(t: PyTree[jax.Array]):\n    return LOOK\n",
    "a module": "def f(t: Model):\n    return LOOK\n",
    "a state with a model": "def f(t: State):\n    return LOOK\n",
    "one with anything": "def f(t: Anything):\n    return LOOK\n",
    "one that another class adds to": "def f(t: Base):\n    return LOOK\n",
    "a dict of models": "def f(t: dict[str, Model]):\n    return LOOK\n",
    "an array or a model": "def f(t: jax.Array | Model):\n    return LOOK\n",
    "one that is bound again": "def f(t: jax.Array, m):\n    t = m\n    return LOOK\n",
    "one that a loop binds": "def f(ts, x: jax.Array):\n    t = x\n    for t in ts:\n        pass\n    return LOOK\n",
    "a dict with another": "def f(x: jax.Array, more):\n    t = {'x': x, **more}\n    return LOOK\n",
    "a list of it and a model": "def f(x: jax.Array, m):\n    t = [x, m]\n    return LOOK\n",
}
LOOKS = {
    "rank": "jax.tree.map(lambda x: x * x.ndim, t)",
    "first": "jax.tree.leaves(t)[0]",
    "path": "jax.tree_util.tree_leaves_with_path(t)",
}


def found(text: str, look: str) -> list[str]:
    path = Path("/project/train.py")
    index = Index(path.parent, [Source(path, HEAD + text.replace("LOOK", LOOKS[look]))])
    return [each.reads for each in watchers(index)]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_tree_that_may_hold_a_model_is_named(name: str, look: str) -> None:
    assert len(found(UNKNOWN[name], look)) == 1


def test_every_tree_of_a_map_is_asked_about() -> None:
    path = Path("/project/train.py")
    text = HEAD + "def f(t: Batch, model):\n    return jax.tree.map(lambda x, y: x * y.ndim, t, model)\n"
    assert len(watchers(Index(path.parent, [Source(path, text)]))) == 1
