"""What is walked beside the layers, of a length that is shown: a loop ends with the shortest, a scan takes them all."""

import pytest
from helpers import MANY, model, only

from scanify.analysis.plan import Plan
from tests.texts import texts

MADE_OF_THREE = "self.layers = [Block(8, key=k) for k in jr.split(key, 3)]\n"


def said(beside: str, init: str = "", layers: str = f"self.layers = {MANY}\n") -> Plan:
    loop = f"for layer, gain in {beside}:\n    x = layer(x) * gain"
    decision = only(model(loop, init=layers + init, parameters="x, gains"))
    assert isinstance(decision, Plan), decision
    return decision


OF_ANOTHER_LENGTH = {
    "numbers in the head": ("zip(self.layers, [0.5, 1.0])", "", "has as many elements"),
    "one list, repeated": ("zip(self.layers, [jnp.ones(8)] * 2)", "", "has as many elements"),
    "a range": ("zip(self.layers, range(20))", "", "has as many elements"),
    "a field of the model": ("zip(self.layers, self.gains)", "self.gains = (0.5, 1.0, 2.0)", "has as many elements"),
    "keys": ("zip(self.layers, jr.split(x, 3))", "", "has as many elements"),
    "keys of a number that a field has": (
        "zip(self.layers, jr.split(x, self.n))",
        "self.n = 3",
        "has as many elements",
    ),
    "fewer keys": ("zip(self.layers, jr.split(x, len(self.layers) - 1))", "", "has as many elements"),
    "an array of ones": ("zip(self.layers, jnp.ones((5, 8)))", "", "has as many elements"),
    "an array of numbers from a start on": ("zip(self.layers, jnp.arange(1, 4))", "", "has as many elements"),
    "a part of an array": (
        "zip(self.layers, self.gains)",
        "self.gains = jnp.linspace(0.0, 1.0, 9)[1:-1]",
        "has as many elements",
    ),
    "an array of a list": ("zip(self.layers, jnp.array([0.5, 1.0]))", "", "has as many elements"),
    "a field that is an array": ("zip(self.layers, self.gains)", "self.gains = jnp.zeros(3)", "has as many elements"),
    "one fewer than the caller says": (
        "zip(self.layers, self.gains)",
        "self.gains = [0.1 * i for i in range(depth - 1)]",
        "has as many elements",
    ),
    "more, in a tuple": (
        "zip(self.layers, self.gains)",
        "self.gains = tuple(0.1 * i for i in range(depth + 3))",
        "has as many elements",
    ),
    "fewer, by a list of keys": (
        "zip(self.layers, self.gains)",
        "parts = jr.split(key, depth - 2)\nself.gains = [jr.normal(part) for part in parts]",
        "has as many elements",
    ),
    "from a number on": (
        "zip(self.layers, self.gains)",
        "self.gains = [0.1 * i for i in range(1, depth + 1)]",
        "has as many elements",
    ),
    "only some of them": (
        "zip(self.layers, self.gains)",
        "self.gains = [0.1 * i for i in range(depth + 1) if i != 2]",
        "has as many elements",
    ),
    "two for each": (
        "zip(self.layers, self.gains)",
        "self.gains = [0.1 * i for i in range(depth - 1) for _ in (1, 2)]",
        "has as many elements",
    ),
    "a part of the list": ("zip(self.layers, self.layers[1:])", "", "another part of it"),
    "two parts of the list": ("zip(self.layers[:-1], self.layers[1:])", "", "another part of it"),
}


@pytest.mark.parametrize(("beside", "init", "reason"), OF_ANOTHER_LENGTH.values(), ids=OF_ANOTHER_LENGTH)
def test_a_length_that_is_shown_has_to_be_that_of_the_layers(beside, init, reason):
    decision = said(beside, init)
    assert any(reason in each for each in texts(decision.obligations)), texts(decision.obligations)


AS_LONG = {
    "as many in the head": ("zip(self.layers, [0.5, 1.0, 2.0])", "", MADE_OF_THREE),
    "a field of as many": ("zip(self.layers, self.gains)", "self.gains = (0.5, 1.0, 2.0)", MADE_OF_THREE),
    "the caller's, of which nothing is shown": ("zip(self.layers, gains)", "", f"self.layers = {MANY}\n"),
    "as many keys": ("zip(self.layers, jr.split(x, 3))", "", MADE_OF_THREE),
    "as many rows": ("zip(self.layers, jnp.ones((3, 8)))", "", MADE_OF_THREE),
    "keys by the length of the list": (
        "zip(self.layers, jr.split(x, len(self.layers)))",
        "",
        f"self.layers = {MANY}\n",
    ),
    "an array whose length is the caller's": (
        "zip(self.layers, jnp.ones(gains))",
        "",
        f"self.layers = {MANY}\n",
    ),
    "made as the layers are": (
        "zip(self.layers, self.gains)",
        "self.gains = [0.1 * i for i in range(depth)]",
        f"self.layers = {MANY}\n",
    ),
}


@pytest.mark.parametrize(("beside", "init", "layers"), AS_LONG.values(), ids=AS_LONG)
def test_lengths_that_may_be_equal_are_not_asked_about(beside, init, layers):
    decision = said(beside, init, layers)
    assert not any("element" in each for each in texts(decision.obligations)), texts(decision.obligations)
