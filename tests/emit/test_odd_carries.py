"""Carries that are None or of another shape before the first layer, and names whose last values are read."""

import jax.numpy as jnp
import pytest

from tests.against_loop import model, same

X = jnp.linspace(-0.5, 1.0, 4)


@pytest.mark.parametrize(
    "call",
    [
        "h = None\nfor layer in self.layers:\n    h = x = layer(x, h)\nreturn h, x",
        "h = None if x is None else None\nfor layer in self.layers:\n    x, h = layer(x, h, twice=True)\nreturn h, x",
        "total = None\nfor layer in self.layers:\n    y = layer(x)\n    total = y if total is None else total + y\nreturn total",
        "h = c = None\nfor layer in self.layers:\n    h, c = layer(x, twice=True)\n    x = h\nreturn h, c, x",
        "h = None\nfor i, layer in enumerate(self.layers):\n    x = layer(x)\n    if i == 2:\n        h = x * 2\nreturn h, x",
        "h = 0\nfor layer in self.layers:\n    h = layer(x)\n    x = x + h\nreturn h, x",
        (
            "h = x\nfor t in range(3):\n    for layer in self.layers:\n        h = layer(x)\n        x = x + h\n"
            "    if t == 1:\n        break\n    h = x * 0\nreturn x + h"
        ),
        "for layer in self.layers:\n    h = layer(x)\n    x = x + h\nreturn h, x",
        "outs, h = [], None\nfor layer in self.layers:\n    x = layer(x)\n    h = x * 2\n    outs.append(h)\nreturn outs, h",
    ],
)
def test_what_the_last_layer_leaves(call):
    assert "BlockSeq" in same(model(call), X)


@pytest.mark.parametrize("start", ["None", "(x, 1.0)", "(x, None)"])
def test_a_carry_that_the_first_layer_changes(start):
    call = "x = layer(x)\n    h = (x, x) if isinstance(h, tuple) else x"
    assert "BlockSeq" in same(model(f"h = {start}\nfor layer in self.layers:\n    {call}\nreturn h"), X)


@pytest.mark.parametrize("start", ["x[:2]", "x.astype(jnp.float16)", "jnp.zeros((), int)"])
def test_a_carry_that_the_first_layer_changes_in_shape_or_dtype(start):
    call = f"h = {start}\nfor i, layer in enumerate(self.layers):\n    x = layer(x) * i\n    h = x + h.sum()\nreturn h"
    assert "BlockSeq" in same(model(call), X)


def test_a_parameter_that_may_be_none():
    call = "for layer in self.layers:\n    x = h = layer(x, h)\nreturn h, x"
    assert "BlockSeq" in same(model(call, parameters="x, h=None"), (X, None), (X, X))


def test_a_width_that_grows():
    init = "self.layers = [Block(4 if i == 0 else 6, 6, key=k) for i, k in enumerate(jr.split(key, 5))]"
    same(model("for layer in self.layers:\n    x = layer(x)\nreturn x", init), X)
