"""The same answer in every process: no reason hangs on the order in which a set gives its elements."""

import os
import subprocess
import sys
from pathlib import Path

TEXT = """\
import equinox as eqx
import jax

class Wide(eqx.Module):
    first: jax.Array
    second: jax.Array | None
    third: jax.Array | None
    fourth: jax.Array | None

    def __init__(self, a, b, c, d, key, use=True):
        self.first = jax.random.normal(key, (a,))
        if use:
            self.second, self.third, self.fourth = (jax.random.normal(key, (size,)) for size in (b, c, d))
            self.fourth = jax.random.normal(key, (d, c))
            self.third = jax.random.normal(key, (c, d))
        else:
            self.fourth = jax.random.normal(key, (d,))
            self.second = jax.random.normal(key, (b,))
            self.third = None

    def __call__(self, x):
        return x * self.first

class Net(eqx.Module):
    layers: list[Wide]

    def __init__(self, rows, others, key):
        self.layers = []
        for (a, b), (c, d) in zip(rows, others):
            self.layers.append(Wide(a, b, c, d, key))

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
SHOW = """\
import sys
from pathlib import Path
from scanify.analysis import analyse
from scanify.source.file import Source
for each in analyse([Source(Path("model.py"), sys.stdin.read())]).loops:
    print(each.rule, each.kind, getattr(each, "reason", ""), getattr(each, "obligations", ""))
"""


def test_a_reason_is_the_same_whatever_strings_hash_to() -> None:
    root = str(Path(__file__).parents[2])
    said = {
        subprocess.run(
            [sys.executable, "-c", SHOW],
            input=TEXT,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": root, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(4)
    }
    assert len(said) == 1 and "SCN203" in said.pop()
