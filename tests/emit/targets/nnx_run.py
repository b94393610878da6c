"""Models of Flax NNX as texts: loaded, written with a scan, and the arrays of what they give."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.emit.targets.models import rewritten

X = jnp.linspace(-1, 1, 8).reshape(2, 4)


@contextmanager
def loaded(text: str, name: str = "nnx_model") -> Iterator[ModuleType]:
    """A text as a module, which its classes are looked up in."""
    module = ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules[name]


@cache
def scanned(text: str, remat: str | None = None) -> str:
    """A text as the target writes it."""
    with tempfile.TemporaryDirectory() as folder:
        after, outcome = rewritten(text, Path(folder), "nnx", remat=remat)
    assert outcome.applied
    assert "for layer in self.layers:" not in after
    return after


def arrays(tree: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a tree, keys as their bits."""

    def bits(leaf: Any) -> Any:
        return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf

    return [np.asarray(bits(leaf)) for leaf in jax.tree.leaves(tree)]
