"""Small models that a target rewrites, loaded from their texts before and after."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.analysis.plan import Refusal
from scanify.emit.targets.arrays import HALIAX, LEVANTER
from scanify.pipeline import Outcome, Project, Stack, rewrite_sources

HEAD = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    weight: jax.Array
    rate: float = eqx.field(static=True)

    def __init__(self, width, *, key, rate=0.5):
        self.weight = jax.random.normal(key, (width, width)) / width
        self.rate = rate

    def __call__(self, x, shift=0.0, *, key=None):
        y = jnp.tanh(self.weight @ x) + shift
        return x + (y if key is None else y * jax.random.bernoulli(key, self.rate, y.shape))


class Model(eqx.Module):
    blocks: list[Block]

    def __init__(self, width, depth, *, key):
        self.blocks = [Block(width, key=k) for k in jax.random.split(key, depth)]

"""


def model(call: str) -> str:
    """The text of a model whose `__call__` is this."""
    lines = (f"    {line}" if line.strip() else line for line in call.strip("\n").split("\n"))
    return HEAD + "\n".join(lines) + "\n"


def rewritten(
    text: str, folder: Path, target: str, *, stack: Stack | None = None, remat: str | None = None
) -> tuple[str, Outcome]:
    """The text as the target has it, and the outcome."""
    path = folder / "model.py"
    path.write_bytes(text.encode())
    outcome = rewrite_sources(Project.load([path]), stack=stack, remat=remat, target=target, accept=lambda plan: True)
    return next((new for at, new in outcome.texts.items() if at == path), text), outcome


def reason(outcome: Outcome) -> str:
    """Why the only loop was refused."""
    (loop,) = outcome.analysis.loops
    assert isinstance(loop, Refusal), loop
    assert loop.rule == "SCN217"
    return loop.reason


@contextmanager
def loaded(text: str, name: str = "model") -> Iterator[ModuleType]:
    """A text as a module, which classes can be found in. What haliax uses of jax is going to be taken away."""
    module = ModuleType(name)
    sys.modules[name] = module
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            exec(compile(text, f"{name}.py", "exec"), module.__dict__)
            yield module
    finally:
        del sys.modules[name]


PLAIN = model("""
def __call__(self, x):
    for block in self.blocks:
        x = block(x)
    return x
""")
KEYS = model("""
def __call__(self, x, shift=0.1, *, key=None):
    keys = [None] * len(self.blocks) if key is None else jax.random.split(key, len(self.blocks))
    for block, k in zip(self.blocks, keys):
        x = block(x, shift, key=k)
    return x
""")
ONE_CALL = model("""
def __call__(self, x, shift, key):
    keys = jax.random.split(key, len(self.blocks))
    for block, k in zip(self.blocks, keys):
        x = block(x, shift, key=k)
    return x
""")
SEVERAL = model("""
def __call__(self, x):
    total = 0.0
    for block in self.blocks:
        x = block(x)
        total = total + jnp.sum(x)
    return x, total
""")
COLLECTED = model("""
def __call__(self, x):
    states, sums = (), []
    for block in self.blocks:
        states += (x,)
        x = block(x)
        sums.append({"sum": x.sum(), "state": x})
    return x, states, sums
""")
SLICES = model("""
def __call__(self, x, caches):
    for block, (a, b) in zip(self.blocks, caches, strict=True):
        x = block(x, a) + b
    return x
""")
NUMBERS = model("""
def __call__(self, x, key):
    for i, (block, scale) in enumerate(zip(self.blocks, jnp.array([0.1, 0.2, 0.3, 0.4, 0.5]))):
        x = block(x, scale, key=jax.random.fold_in(key, i)) / (i + 1)
    return x.astype(jnp.bfloat16)
""")
MAPPED = model("""
def __call__(self, x, key):
    keys = jax.random.split(key, len(self.blocks))
    sums = [block(x, key=k).sum() / len(self.blocks) for block, k in zip(self.blocks, keys)]
    carry = jnp.sin(x)
    states = []
    for block in self.blocks:
        states.append(block(carry))
    return sums, states
""")


def _where(target: str, file: str) -> Any:
    package = find_spec(file.partition("/")[0])  # of a submodule it would import the package
    folders = package.submodule_search_locations if package is not None else None
    there = any((Path(folder).parent / file).is_file() for folder in folders or ())
    return pytest.param(target, marks=pytest.mark.skipif(not there, reason=f"{file} is not installed"))


WRITTEN_OUT = [
    "lax",
    _where("haliax", "haliax/nn/scan.py"),
    _where(HALIAX, "haliax/nn/array_stacked.py"),
    _where(LEVANTER, "levanter/layers/stacked.py"),
]
"""The targets that write out what our own containers do, as parameters of a test that runs what they write."""


def apart(tree: Any) -> list[Any]:
    """The arrays of a model, of a list of layers as of a stack of them."""

    def stacked(node: Any) -> Any:
        return jax.tree.map(lambda *rows: jnp.stack(rows), *node) if isinstance(node, list) and node else node

    arrays = eqx.filter(tree, eqx.is_array)
    return jax.tree.leaves(jax.tree.map(stacked, arrays, is_leaf=lambda node: isinstance(node, list)))


def computed(text: str, args: tuple[Any, ...], kwargs: dict[str, Any], depth: int = 5) -> tuple[Any, Any]:
    """The outputs and the gradients of all of their sums."""
    with loaded(text) as module:
        network = module.Model(3, depth, key=jax.random.key(0))
        named = {name: jax.random.key(value) for name, value in kwargs.items()}

        def loss(network: Any, x: Any) -> tuple[Any, Any]:
            outputs = network(x, *args, **named)
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(outputs)), outputs

        x = jnp.linspace(-1.0, 1.0, 3)
        gradients, outputs = eqx.filter_jit(eqx.filter_grad(loss, has_aux=True))(network, x)
        return outputs, apart(gradients)


def same(loop: Any, scan: Any) -> None:
    assert jax.tree.structure(loop) == jax.tree.structure(scan)
    assert len(jax.tree.leaves(loop)) > 0
    for expected, got in zip(jax.tree.leaves(loop), jax.tree.leaves(scan), strict=True):
        assert (jnp.shape(expected), jnp.asarray(expected).dtype) == (jnp.shape(got), jnp.asarray(got).dtype)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
