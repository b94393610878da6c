"""Arrays of numpy that layers hold have values in a loop; in a scan they are tracers, which say no length."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan, Refusal

CODE = """\
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

SIZES = np.arange(4)


class Block(eqx.Module):
    w: jax.Array
    held: object

    def __init__(self, d, i, key):
        self.w = jr.normal(key, (d, d))
        self.held = {held}

    def __call__(self, x):
        return {body}


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, d, n, key):
        self.layers = [Block(d, i, k) for i, k in zip(np.arange(n) + 1, jr.split(key, n))]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def found(held: str, body: str) -> Plan | Refusal:
    return next(each for each in decide(CODE.format(held=held, body=body)) if each.container == "self.layers")


@pytest.mark.parametrize(
    ("held", "body"),
    [
        ("np.asarray(d)", "x[: self.held] + self.w[0]"),
        ("np.int32(i)", "x.at[: self.held].add(1.0)"),
        ("i", "x.at[: self.held].add(1.0)"),
        ("i", "x + jnp.zeros(self.held).sum()"),
        ("np.array([i, 2])", "x + jnp.zeros(tuple(self.held)).sum()"),
        ("np.array([i, 2])", "x.reshape(self.held[1], -1).ravel()"),
        ("np.arange(d) + i", "x[np.nonzero(self.held)[0]] + x"),
        ("np.arange(d) + i", "x * np.max(self.held)"),
    ],
)
def test_python_asks_for_their_values(held, body):
    each = found(held, body)
    assert isinstance(each, Refusal) or not each.safe


@pytest.mark.parametrize(
    ("held", "body"),
    [
        ("np.arange(d)", "x + x[self.held]"),
        ("np.ones((d, d))", "x + jnp.zeros(self.held.shape).sum() + x[: len(self.held)]"),
    ],
)
def test_they_are_computed_with(held, body):
    each = found(held, body)
    assert isinstance(each, Plan)
    assert each.safe
