"""Small models that a target rewrites, loaded from their texts before and after."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from scanify.analysis.plan import Refusal
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
    """A text as a module, which classes can be found in."""
    module = ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules[name]
