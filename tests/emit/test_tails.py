"""Loops that read the end of the list that they fill: the last element goes from layer to layer."""

import jax.numpy as jnp
import pytest

from tests.against_loop import model, rewritten, same

X = jnp.linspace(-0.5, 1.0, 4)
TWO = """\
self.layers = [Block(4, key=k) for k in jr.split(key, 5)]
self.last_ends = [Block(4, key=k) for k in jr.split(key, 4)]
"""


def test_the_text() -> None:
    call = """\
        hidden = [x]
        # from layer to layer
        for layer in self.layers:  # in order
            hidden.append(  # the new end
                layer(hidden[-1])
            )
        return hidden
    """
    new, _ = rewritten(model(call))
    assert (
        new[new.index("        hidden = [x]") :].rstrip() + "\n"
        == """\
        hidden = [x]
        # from layer to layer
        last_hidden = hidden[-1]

        def apply_layer(layer, last_hidden):  # in order
            layer_hidden = []
            layer_hidden.append(  # the new end
                last_hidden := layer(last_hidden)
            )
            return last_hidden, layer_hidden

        last_hidden, collected = self.layers.collect_via(apply_layer)(last_hidden)
        for ys in collected:
            hidden.extend(ys)
        return hidden
"""
    )


@pytest.mark.parametrize(
    "call",
    [
        "y = [x]\nfor layer in self.layers:\n    y.append(layer(y[-1]))\nreturn y",
        "y = [x, x * 2]\nfor layer in self.layers: y += [layer(y[-1])]\nreturn y",
        "y = [x]\nfor layer in self.layers:\n    y = y + [x, layer(y[-1]) + y[-1]]\nreturn y[1:]",
        "y = (x,)\nfor layer in self.layers:\n    y = (*y, layer(y[-1]))\nreturn y",
        "y = (x,)\nfor layer in self.layers:\n    y = y + (layer(y[-1]),)\nreturn y[-1], y[0]",
        "y = []\ny.append(x)\ny.append(x + 1)\nfor layer in self.layers:\n    y.append(layer(y[-1]))\nreturn y",
        "y = [x]\nfor i in range(len(self.layers)):\n    y.append(self.layers[i](y[-1], x if i else None))\nreturn y",
        "y = [x]\nfor layer in self.layers:\n    y.append(layer(y[-1]))\n    y.append(y[-1] * 2)\n    x = x + y[-1]\nreturn y, x",
        "y = [x]\nfor layer in self.layers:\n    h = layer(y[-1])\n    x = x + y[-1]\n    y.append(h)\nreturn y, x",
        (
            "y = [x]\nfor i, layer in enumerate(self.layers):\n    if i % 2:\n        y.append(layer(y[-1]))\n        continue\n"
            "    x = layer(x) + y[-1]\nreturn y, x"
        ),
        "y = [x]\nlast_y = 2.0\nfor layer in self.layers:\n    y.append(layer(y[-1]) * last_y)\nreturn y, last_y",
        (
            "y = [x]\nz = [x * 2]\nfor layer in self.layers:\n    y.append(layer(z[-1]))\n"
            "    z.append(layer(y[-1]))\nreturn y, z"
        ),
        "y = [x]\nfor layer in self.layers:\n    x = layer(x)\n    y.append(x + y[-1])\nreturn y, x",
        "y = [x]\nif x.ndim:\n    for layer in self.layers:\n        y.append(layer(y[-1]))\nreturn y",
        "y = [None]\nfor layer in self.layers:\n    y.append(layer(x, y[-1]))\nreturn y[1:]",
        "y = [0.5]\nfor layer in self.layers:\n    y.append(layer(x).sum() + y[-1])\nreturn y[1:]",
        "y = [x]\nfor layer in self.layers[1:]:\n    y.append(layer(y[-1]))\nreturn y",
    ],
)
def test_the_list_and_its_end_are_what_they_were(call: str) -> None:
    assert "for layer in self" not in same(model(call), X)


def test_two_loops_that_go_on_with_one_list() -> None:
    call = (
        "y = [x]\nfor layer in self.layers:\n    y.append(layer(y[-1]))\n"
        "for one in self.last_ends:\n    y.append(one(y[-1]))\nreturn y"
    )
    new = same(model(call, TWO, fields="layers: list\nlast_ends: list"), X, count=2)
    assert new.count("last_y = y[-1]\n") == 2


def test_an_inner_loop_in_which_the_list_grows() -> None:
    call = "y = [x]\nfor _ in range(2):\n    for layer in self.layers:\n        y.append(layer(y[-1]))\nreturn y"
    text = model(call)
    with pytest.raises(AssertionError):  # the list is read before each walk but the first
        rewritten(text)


def test_parts_of_an_array_are_gone_on_with():
    call = """\
        y = list(jnp.split(x, 2))
        for i, layer in enumerate(self.layers):
            y.append(layer(y[-1]) * (i + 1))
        return jnp.concatenate(y)
    """
    assert "collect_via(" in same(model(call), jnp.linspace(-0.5, 1.0, 8))


@pytest.mark.parametrize(
    "added", ["y.extend(part * 2 for part in (x, x + 1))", "y += (part - 1 for part in (x, x + 1))"]
)
def test_what_a_generator_gives_is_collected(added):
    call = f"y = []\nfor layer in self.layers:\n    x = layer(x)\n    {added}\nreturn x, y"
    assert "collect_via(" in same(model(call), X)


def test_a_generator_is_no_array():
    call = "y = []\nfor layer in self.layers:\n    x = layer(x)\n    y.append(part for part in (x, x))\nreturn x, [sum(each) for each in y]"
    rewritten(model(call), 0)
