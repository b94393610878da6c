"""Levels of a U-Net: what is applied to each is a stack, and the loop over the levels stays, in a second run too."""

from pathlib import Path

from scanify.analysis.plan import Refusal
from scanify.pipeline import Project, rewrite_sources

MODEL = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    weight: jax.Array

    def __init__(self, width, wider, *, key):
        self.weight = jax.random.normal(key, (wider, width))

    def __call__(self, x):
        return jnp.tanh(self.weight @ x)


class UNet(eqx.Module):
    downs: list
    levels: list

    def __init__(self, hidden, count, depth, multipliers=None, *, key):
        if multipliers is None:
            multipliers = tuple(2**i for i in range(1, count + 1))
        widths = [hidden] + [hidden * m for m in multipliers]
        self.downs = []
        self.levels = []
        for width, wider in zip(widths[:-1], widths[1:]):
            key, down_key, block_key = jax.random.split(key, 3)
            self.downs.append(Block(width, width, key=down_key))
            level = [Block(width, wider, key=block_key)]
            for _ in range(depth - 1):
                level.append(Block(wider, wider, key=block_key))
            self.levels.append(level)

    def __call__(self, x):
        for down, level in zip(self.downs, self.levels):
            x = down(x)
            for block in level:
                x = block(x)
        return x
"""


def test_loops_over_levels_are_left_to_evidence(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    outcome = rewrite_sources(Project.load([tmp_path]))
    assert all(isinstance(each, Refusal) and each.undecided is not None for each in outcome.analysis.loops)
    assert not outcome.changes
