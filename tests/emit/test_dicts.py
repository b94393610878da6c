"""Rewritten loops over dicts walk what the loops would have walked: eager in the dict's own order, sorted under jit."""

from pathlib import Path
from textwrap import indent
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest

from scanify.analysis import analyse
from scanify.analysis.plan import Plan
from scanify.emit import rewrite_texts
from scanify.source.file import Source

# The names are not in sorted order, and the layers do not commute.
MODEL = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    weight: jax.Array
    rate: float

    def __call__(self, x, k=1.0):
        return jnp.sin(x @ self.weight) * k + self.rate


class Model(eqx.Module):
    blocks: dict[str, Block]

    def __init__(self, key):
        self.blocks = {}
        for i, k in enumerate(jax.random.split(key, 4)):
            self.blocks[f"block{3 - i}"] = Block(jax.random.normal(k, (3, 3)), 0.1 * (i // 2))

    def __call__(self, x, ks):
        outs = {}
"""
LOOPS = {
    "values": "for layer in self.blocks.values():\n    x = layer(x)",
    "backwards": "for layer in reversed(self.blocks.values()):\n    x = layer(x)",
    "a part": "for layer in list(self.blocks.values())[1:]:\n    x = layer(x)",
    "beside": "for k, layer in zip(ks, self.blocks.values()):\n    x = layer(x, k)",
    "a name in a condition": "for name, layer in self.blocks.items():\n    x = layer(x) if name != 'block2' else -x",
    "a name that ends it": (
        "for name, layer in self.blocks.items():\n    if name == 'block1':\n        break\n    x = layer(x)"
    ),
    "collected by name": (
        "for name, layer in self.blocks.items():\n    x = layer(x)\n    outs[name] = x\n"
        "x = jnp.stack([outs[name] * i for i, name in enumerate(outs)])"
    ),
    "by its own names": "for name in self.blocks:\n    x = self.blocks[name](x) * len(name)",
    "by sorted names": "for name in sorted(self.blocks):\n    x = self.blocks[name](x)",
    "by number": "for i in range(4):\n    x = self.blocks[f'block{i}'](x, ks[i])",
    "two at once": "for (_, a), (_, b) in zip(self.blocks.items(), reversed(self.blocks.items())):\n    x = a(b(x))",
    "independent": "x = sum(layer(x) * len(name) for name, layer in self.blocks.items())",
}


def loaded(text: str) -> Any:
    scope: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec", dont_inherit=True), scope)
    return scope["Model"](jax.random.key(0))


@pytest.mark.parametrize("name", LOOPS)
def test_the_order_is_that_of_the_loop(name: str) -> None:
    text = MODEL + indent(LOOPS[name] + "\nreturn x\n", " " * 8)
    path = Path("model.py")
    loops = analyse([Source(path, text)]).loops
    plans = [loop for loop in loops if isinstance(loop, Plan)]
    assert len(plans) == len(loops) == 1
    after = rewrite_texts({path: text}, plans)[path]
    assert "BlockSeq.of(" in after
    assert "        self.blocks = {}\n" in after
    before, rewritten = loaded(text), loaded(after)
    x, ks = jax.numpy.array([0.3, -1.0, 2.0]), jax.numpy.array([1.0, 0.5, 2.0, -1.0])

    def called(model: Any) -> Any:
        return model(x, ks)

    def graded(model: Any) -> Any:
        return eqx.filter_grad(lambda model: called(model).sum())(model)

    answers = {}
    for run in (called, eqx.filter_jit(called), eqx.filter_jit(graded)):
        mine, theirs = (jax.tree.leaves(eqx.filter(run(each), eqx.is_array)) for each in (rewritten, before))
        assert len(mine) == len(theirs) > 0
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        answers[run] = mine
    eager, jitted = list(answers.values())[:2]
    if name in ("values", "backwards", "by its own names"):  # else the test would not tell the orders apart
        assert not np.allclose(eager[0], jitted[0])
