"""Models of Flax Linen whose loops are rewritten, as texts."""

BLOCK = """\
import jax
import jax.numpy as jnp
from flax import linen as nn


class Block(nn.Module):
    dim: int
    rate: float = 0.5

    @nn.compact
    def __call__(self, x, mask, train=False):
        h = nn.BatchNorm(use_running_average=not train)(x)
        h = nn.Dense(self.dim, name="mix")(h)
        calls = self.variable("cache", "calls", lambda: jnp.zeros(()))
        if train:
            calls.value += jnp.mean(h)
            h = nn.Dropout(self.rate, deterministic=False)(h)
        self.sow("intermediates", "hidden", h)
        return x + nn.tanh(h) * mask


class Model(nn.Module):
    dim: int = 4
    n: int = 3
"""

SETUP = """
    def setup(self):
        self.embed = nn.Dense(self.dim)
        self.layers = [Block(self.dim) for _ in range(self.n)]

    def __call__(self, x, mask, train=False):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x, mask, train)
        return x
"""

COMPACT = """
    @nn.compact
    def __call__(self, x, mask, train=False):
        x = nn.Dense(self.dim)(x)
        for i in range(self.n):
            x = Block(self.dim, name=f"layer_{i}")(x, mask, train)
        return nn.Dense(2)(x)
"""


def setup(call: str = "", layers: str = "[Block(self.dim) for _ in range(self.n)]") -> str:
    """A model that builds its layers in `setup`, with the lines of its call from the loop on."""
    text = BLOCK + SETUP.replace("[Block(self.dim) for _ in range(self.n)]", layers)
    return text if not call else text[: text.index("        for layer")] + call


def compact(loop: str = "") -> str:
    """A model that builds its layers where it applies them, with the lines of its loop."""
    text = BLOCK + COMPACT
    start, end = text.index("        for i in"), text.index("        return nn.Dense(2)")
    return text if not loop else text[:start] + loop + text[end:]


def body(*lines: str, head: str = "for i in range(self.n):") -> str:
    """A loop of a model, with the lines of its body."""
    return "".join(f"        {line}\n" for line in (head, *(f"    {line}" for line in lines)))


APPLIED = "(x, mask, train)"
