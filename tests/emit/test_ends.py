"""Ends of a list that a loop leaves out: slices, elements taken before and after, and unpacking."""

import jax.numpy as jnp
import pytest

from tests.against_loop import INIT, model, same

X = jnp.linspace(-0.5, 1.0, 4)
ACTS = "self.acts = tuple(jnp.sin if i % 2 else jnp.cos for i in range(5))\n"
UNEQUAL = "self.layers = [Block(4 if i < 4 else 3, 4 if i < 3 else 3, key=k) for i, k in enumerate(jr.split(key, 5))]"


@pytest.mark.parametrize(
    "call",
    [
        "for i, layer in enumerate(self.layers[:-1]):\n    x = self.acts[i](layer(x))\nreturn self.layers[-1](x)",
        "for act, layer in zip(self.acts[1:], self.layers[:-1]):\n    x = act(layer(x))\nreturn self.layers[-1](x)",
        "x = self.layers[0](x)\nfor layer in self.layers[1:]:\n    x = 1 + layer(x)\nreturn x",
        "*hidden, last = self.layers\nfor layer in hidden:\n    x = jnp.sin(layer(x))\nreturn last(x)",
        "first, *rest = self.layers\nx = first(x)\nfor i, layer in enumerate(rest):\n    x = self.acts[i](layer(x))\nreturn x",
        "first, *middle, last = self.layers\nx = first(x)\nfor layer in middle:\n    x = layer(x)\nreturn last(x)",
        "hidden, last = self.layers[:-1], self.layers[-1]\nfor layer in hidden:\n    x = layer(x)\nreturn last(x)",
        "for i, layer in enumerate(self.layers):\n    x = layer(x)\n    if i != len(self.layers) - 1:\n        x = self.acts[i](x)\nreturn x",
        "for i, layer in enumerate(self.layers):\n    if i > 0:\n        x = x * 2\n    x = layer(x) if i == 0 else layer(x) + 1\nreturn x",
        "last = len(self.layers) - 1\nfor i, layer in enumerate(self.layers):\n    x = layer(x)\n    x = x if i == last else jnp.sin(x)\nreturn x",
    ],
)
@pytest.mark.parametrize("init", [INIT, UNEQUAL])
def test_ends(call, init):
    new = same(model(call, ACTS + init, fields="layers: list\nacts: tuple"), X)
    assert "BlockSeq" in new


def test_arrays_of_a_module_taken_by_the_index_in_a_function_around_the_loop():
    init = f"{INIT}\nself.act = eqx.filter_vmap(lambda: eqx.nn.PReLU(), axis_size=5)()"
    call = (
        "def act(i):\n    return jax.tree.map(lambda leaf: leaf[i] if eqx.is_array(leaf) else leaf, self.act)\n"
        "for i, layer in enumerate(self.layers[:-1]):\n    x = act(i)(layer(x))\nreturn self.layers[-1](x)"
    )
    same(model(call, init, fields="layers: list\nact: eqx.Module"), X)


def test_an_unpacked_list_stays_one():
    init = f"{INIT}\nself.more = [Block(4, key=k) for k in jr.split(key, 3)]"
    call = "for layer in self.layers:\n    x = layer(x)\na, *rest = self.layers\nfor layer in self.more:\n    x = layer(x)\nreturn a(x)"
    new = same(model(call, init, fields="layers: list\nmore: list"), X, count=2)
    assert new.count("= ArrayStacked.init(") == 1 and "ArrayStacked.of(self.layers).fold(x)" in new
