"""Decoding with caches beside training: both loops become scans over one stack, and give what the loops gave."""

from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.analysis.obligation import COST
from scanify.analysis.plan import Plan
from scanify.analysis.stack import InitStack
from scanify.pipeline import Project, rewrite_sources
from tests.texts import texts

MODEL = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, key):
        self.weight = jax.random.normal(key, (3, 3))

    def __call__(self, x):
        return jnp.sin(self.weight @ x)

    def step(self, x, cache, pos):
        cache = cache.at[pos].set(x)
        return jnp.sin(self.weight @ x) + cache.sum(0), cache


class Model(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def decode(self, x, caches: list[jax.Array], pos):
"""

LOOPS = {
    "the name of the cache again": """
        new = []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer.step(x, cache, pos)
            new.append(cache)
        return x, new
        """,
    "read by number": """
        new = []
        for i, layer in enumerate(self.layers):
            x, c = layer.step(x, caches[i], pos)
            new.append(c)
        return x, new
        """,
    "counted": """
        new = []
        for i, (layer, c) in enumerate(zip(self.layers, caches)):
            x, c = layer.step(x, c + i, pos)
            new += [c]
        return x, tuple(new)
        """,
    "a tuple of them": """
        new = ()
        for layer, c in zip(self.layers, caches):
            x, c = layer.step(x, c, pos)
            new = new + (c,)
        return x, new
        """,
    "one that goes through": """
        cache = caches[0]
        for layer in self.layers:
            x, cache = layer.step(x, cache, pos)
        return x, cache
        """,
}


def loaded(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "model.py", "exec"), names)
    return names["Model"]


def same(mine: Any, theirs: Any) -> None:
    assert jax.tree.structure(mine) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOOPS)
def test_training_and_decoding_give_what_the_loops_gave(name: str, tmp_path: Path) -> None:
    text = MODEL + indent(dedent(LOOPS[name]).strip("\n") + "\n", " " * 8)
    (tmp_path / "model.py").write_text(text)
    outcome = rewrite_sources(Project.load([tmp_path]), stack=None, remat=None, accept=lambda plan: True)
    plans = [each for each in outcome.analysis.loops if isinstance(each, Plan)]
    assert len(plans) == 2 and all(isinstance(plan.stack, InitStack) for plan in plans)
    costs = [False, name != "one that goes through"]
    assert not any(plan.left({COST}) for plan in plans) and [bool(texts(plan.cost)) for plan in plans] == costs
    new = outcome.texts[tmp_path / "model.py"]
    assert "for layer" not in new and "enumerate" not in new
    before, after = loaded(text)(jax.random.key(0)), loaded(new)(jax.random.key(0))
    x, caches = jnp.arange(3.0), [jnp.full((5, 3), float(i)) for i in range(4)]
    same(before(x), after(x))
    for pos in range(2):
        expected, got = before.decode(x, caches, pos), after.decode(x, caches, pos)
        same(expected, got)
        x, caches = expected[0], list(expected[1]) if isinstance(expected[1], list | tuple) else caches


def test_a_decoding_loop_that_is_ignored_keeps_its_list_and_training_is_a_scan_all_the_same(tmp_path: Path) -> None:
    """What `--advise` says to do where decoding one token is slower in a scan."""
    loop = indent(dedent(LOOPS["the name of the cache again"]).strip("\n") + "\n", " " * 8)
    kept = loop.replace("caches):\n", "caches):  # scanify: ignore\n")
    assert kept != loop
    (tmp_path / "model.py").write_text(MODEL + kept)
    outcome = rewrite_sources(Project.load([tmp_path]), stack=None, remat=None)
    new = outcome.texts[tmp_path / "model.py"]
    assert new.endswith(kept) and "ArrayStacked.of(self.layers).fold(x)" in new
    before, after = loaded(MODEL + kept)(jax.random.key(0)), loaded(new)(jax.random.key(0))
    x, caches = jnp.arange(3.0), [jnp.full((5, 3), float(i)) for i in range(4)]
    same(before(x), after(x))
    given = before, x, caches, 1
    traced = [jax.make_jaxpr(type(model).decode, static_argnums=3)(model, *given[1:]) for model in (before, after)]
    assert str(traced[0]) == str(traced[1])
