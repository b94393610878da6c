"""Loops that count by hand, backwards, or through `itertools`: they stay, and are listed with the reason."""

import pytest

from tests.against_loop import model, rewritten

CALLS = {
    "up to the length": (
        "i = 0\nwhile i < len(self.layers):\n    x = self.layers[i](x)\n    i += 1\nreturn x",
        "SCN208",
    ),
    "until it breaks": (
        "i = 0\nwhile True:\n    x = self.layers[i](x)\n    i += 1\n    if i == 3:\n        break\nreturn x",
        "SCN208",
    ),
    "down to zero": (
        "i = len(self.layers) - 1\nwhile i >= 0:\n    x = self.layers[i](x)\n    i -= 1\nreturn x",
        "SCN208",
    ),
    "a counter beside other numbers": (
        "i = 0\nfor _ in range(3):\n    x = self.layers[i](x)\n    i += 1\nreturn x",
        "SCN208",
    ),
    "a flag of its own": (
        "i = 0\nfor layer in self.layers:\n    x = layer(x) * (2 if i % 2 else 1)\n    i += 1\nreturn x",
        "SCN208",
    ),
    "backwards with numbers": (
        "for i, layer in reversed(list(enumerate(self.layers))):\n    x = layer(x) * i\nreturn x",
        "SCN213",
    ),
    "a count without an end": (
        "for i, layer in zip(itertools.count(), self.layers):\n    x = layer(x) * i\nreturn x",
        "SCN213",
    ),
    "a count by two": (
        "for i, layer in zip(itertools.count(0, 2), self.layers):\n    x = layer(x) * i\nreturn x",
        "SCN213",
    ),
    "a part by islice": ("for layer in itertools.islice(self.layers, 1, 4):\n    x = layer(x)\nreturn x", "SCN213"),
    "what has no end": (
        "for layer, k in zip(self.layers, itertools.cycle((1, 2))):\n    x = layer(x) * k\nreturn x",
        "SCN213",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_stays_with_its_reason(name: str) -> None:
    call, rule = CALLS[name]
    text = model(call).replace("import equinox as eqx\n", "import itertools\n\nimport equinox as eqx\n", 1)
    _, (refusal,) = rewritten(text, count=0)
    assert refusal.rule == rule
