"""The classes and functions that a model made at random may use: those that it does use."""

import re

_PRELUDE = """\
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

CALLS = []
COUNT = 0
DEPTH = 3


class Norm(eqx.Module):
    scale: jax.Array

    def __call__(self, x):
        return x * self.scale / (1 + jnp.sum(x**2))


class Base(eqx.Module):
    weight: jax.Array
    norm: Norm
    drop: eqx.nn.Dropout
    rate: float
    act: callable = eqx.field(static=True)

    def __init__(self, size, rate=0.1, drop=0.3, act=jnp.sin, *, key):
        self.weight = jr.normal(key, (size, size)) / size
        self.norm = Norm(jnp.linspace(0.5, 1.5, size) + 0.1 * self.weight[0])
        self.drop = eqx.nn.Dropout(drop)
        self.rate = rate
        self.act = act

    def attend(self, x, mask=None):
        y = jnp.tanh(self.weight.T @ x)
        return y if mask is None else y * mask

    def step(self, x, s, k=0.0):
        return self(x) + s, 0.5 * s + jnp.cos(x) * k


class Block(Base):
    def __call__(self, x, mask=None, *, k=None, key=None):
        h = self.norm(self.weight @ x)
        if mask is not None:
            h = h * mask
        if k is not None:
            h = h + 0.1 * k
        if key is not None:
            h = self.drop(h, key=key)
        return x + self.rate * h + self.act(h)


class Gate(Base):
    def __call__(self, x, mask=None, *, k=None, key=None):
        h = jax.nn.sigmoid(self.weight @ x + self.rate)
        if key is not None:
            h = h + 0.1 * jr.normal(key, h.shape)
        x = x * h if mask is None else x * h * mask
        return x if k is None else x - 0.1 * k


class Wide(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, before, after, *, key):
        self.linear = eqx.nn.Linear(before, after, key=key)

    def __call__(self, x):
        return jnp.tanh(self.linear(x))


class Running(eqx.Module):
    weight: jax.Array
    index: eqx.nn.StateIndex

    def __init__(self, size, *, key):
        self.weight = jr.normal(key, (size, size)) / size
        self.index = eqx.nn.StateIndex(jnp.zeros(size))

    def __call__(self, x, state):
        mean = 0.9 * state.get(self.index) + 0.1 * x
        return x + jnp.tanh(self.weight @ x - mean), state.set(self.index, mean)


class Normed(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm

    def __init__(self, size, *, key):
        self.linear = eqx.nn.Linear(size, size, key=key)
        self.norm = eqx.nn.BatchNorm(size, axis_name="batch", mode="ema")

    def __call__(self, x, state):
        y, state = self.norm(jnp.sin(self.linear(x)), state)
        return x + y, state


KINDS = {"block": Block, "gate": Gate}


def squash(x, by=0.5):
    y = [x * by]
    y.append(jnp.tanh(x))
    return y[0] + y[1]


def noisy(x):
    CALLS.append("noisy")
    return x


def make(size, depth, key):
    blocks = []
    for one in jr.split(key, depth):
        blocks.append(Block(size, key=one))
    return blocks
"""
_HEAD, *_PIECES = _PRELUDE.split("\n\n\n")


def prelude(depth: int, text: str) -> str:
    """The imports, and the definitions that `text` names, themselves or through others. A short file is read faster."""
    kept: list[str] = []
    for piece in reversed(_PIECES):
        name = re.match(r"(?:class |def )?(\w+)", piece)
        assert name is not None
        if re.search(rf"\b{name[1]}\b", "".join([text, *kept])):
            kept.insert(0, piece)
    return "\n\n\n".join([_HEAD.replace("DEPTH = 3", f"DEPTH = {depth}"), *kept])
