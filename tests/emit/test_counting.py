"""Loops that count by hand, backwards, or through `itertools`: what is written in their place computes the same."""

import jax.numpy as jnp
import pytest

from tests.against_loop import model, rewritten, same

X = jnp.linspace(-0.5, 1.0, 4)
CALLS = {
    "up to the length": "i = 0\nwhile i < len(self.layers):\n    x = self.layers[i](x)\n    i += 1\nreturn x",
    "up to a number": "i, n = 0, 3\ni = 1\nwhile i < n:\n    x = self.layers[i](x) * i\n    i += 1\nreturn x",
    "from a computed number": "i = len(self.layers) // 2\nwhile i < 5:\n    x = self.layers[i](x)\n    i += 1\nreturn x",
    "down to zero": "i = len(self.layers) - 1\nwhile i >= 0:\n    x = self.layers[i](x)\n    i -= 1\nreturn x",
    "down to zero, in other words": "i = 3\nwhile -1 < i:\n    x = self.layers[i](x) + i\n    i = i - 1\nreturn x",
    "beside the layers": "i = 0\nfor layer in self.layers:\n    x = layer(x) * (2 if i % 2 else 1)\n    i += 1\nreturn x",
    "backwards with numbers": "for i, layer in reversed(list(enumerate(self.layers))):\n    x = layer(x) * i\nreturn x",
    "a count without an end": "for i, layer in zip(itertools.count(), self.layers):\n    x = layer(x) * i\nreturn x",
    "a count from two on": "for layer, i in zip(self.layers, itertools.count(2)):\n    x = layer(x) * i\nreturn x",
    "a part by islice": "for layer in itertools.islice(self.layers, 1, 4):\n    x = layer(x)\nreturn x",
    "a part by islice with numbers": (
        "for i, layer in enumerate(itertools.islice(self.layers, 1, None)):\n    x = layer(x) * i\nreturn x"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_numbers_are_what_they_were(name: str) -> None:
    text = model(CALLS[name]).replace("import equinox as eqx\n", "import itertools\n\nimport equinox as eqx\n", 1)
    new = same(text, X)
    assert "while " not in new and "in self.layers" not in new
    assert "fold" in new


@pytest.mark.parametrize("name", ["up to the length", "down to zero"])
def test_the_counter_goes_where_nothing_reads_it_any_more(name: str) -> None:
    new, _ = rewritten(model(CALLS[name]))
    assert "i = " not in new and "i += " not in new and "i -= " not in new
    kept, _ = rewritten(model(CALLS[name].replace("return x", "i = 7\nreturn x * i")))
    assert "i = 7" in kept


@pytest.mark.parametrize(
    "call",
    [
        "i = 0\nwhile i < len(self.layers):\n    x = self.layers[i](x)\n    i += 1\nreturn x, i",
        "i = 4\nwhile i >= 1:\n    x = self.layers[i](x)\n    i -= 1\nreturn x",
        "i = 4\nwhile i >= 0:\n    x = self.layers[i](x)\n    i -= 2\nreturn x",
        "n = 5\ni = n - 1\nn = 3\nwhile i >= 0:\n    x = self.layers[i](x)\n    i -= 1\nreturn x * n",
        "i = 0\nwhile x.sum() < 100 and i < 5:\n    x = self.layers[i](x)\n    i += 1\nreturn x",
    ],
)
def test_what_is_no_plain_counting_is_left_alone(call: str) -> None:
    rewritten(model(call), count=0)


def test_what_has_no_end_is_walked_by_no_scan() -> None:
    call = "for layer, k in zip(self.layers, itertools.cycle((1, 2))):\n    x = layer(x) * k\nreturn x"
    text = model(call).replace("import equinox as eqx\n", "import itertools\n\nimport equinox as eqx\n", 1)
    _, (refusal,) = rewritten(text, count=0)
    assert refusal.rule == "SCN213"
