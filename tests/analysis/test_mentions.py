"""Which identifiers the code of a function mentions: what they are in it decides, not that they stand in its text."""

import ast
from textwrap import dedent

import pytest

from scanify.analysis.values.mentions import mentioned_in


def mentions(code: str) -> bool:
    (node,) = ast.parse(dedent(code)).body
    assert isinstance(node, ast.FunctionDef)
    return "layers" in mentioned_in(node)


MENTIONED = {
    "a decorator's argument": "@wraps(layers)\ndef f(m): return m",
    "an attribute": "def f(m): return m.layers",
    "an attribute that is stored": "def f(m): m.layers = []",
    "a keyword": "def f(m): return M(layers=m)",
    "a text": "def f(m): return getattr(m, 'layers')",
    "a path in a text": "def f(m): return attrgetter('encoder.layers')(m)",
    "a name of the file": "def f(m): return layers(m)",
    "an import": "def f(m):\n    from model import layers as made\n    return made(m)",
    "a global name": "def f(m):\n    global layers\n    layers = m",
    "a default": "def f(m=layers): return m",
    "a default of a parameter with an annotation": "def f(m: type = nn.layers): return m",
    "a decorator": "@layers\ndef f(m): return m",
    "a pattern": "def f(m):\n    match m:\n        case M(layers=each): return each",
    "a local name for a class without its name": "def f(cls):\n    layers = []\n    return cls(layers)",
    "an annotation, where classes are asked for": "def f(m: layers): return type(m)",
    "an inner function": "def f(m):\n    def g(): return m.layers\n    return g",
}


@pytest.mark.parametrize("code", MENTIONED.values(), ids=MENTIONED)
def test_it_is_mentioned(code):
    assert mentions(code)


NOT_MENTIONED = {
    "a comment": "def f(m):\n    # layers\n    return m",
    "a sentence": "def f(m):\n    raise TypeError('no layers')",
    "the docstring": "def f(m):\n    'Walk layers.'\n    return m",
    "a local name": "def f(m):\n    layers = g(m)\n    return layers",
    "a parameter": "def f(layers): return layers",
    "a parameter of an inner function": "def f(m): return lambda layers: layers",
    "a target": "def f(m):\n    for layers in m: print(layers)",
    "an annotation": "def f(m: layers): return m",
    "an annotation as a text": "def f(m: 'list[layers]', n=1): return m",
    "what it gives, by its annotation": "def f(m) -> layers: return m",
    "a part of another identifier": "def f(m): return m.layers_of",
}


@pytest.mark.parametrize("code", NOT_MENTIONED.values(), ids=NOT_MENTIONED)
def test_it_is_not_mentioned(code):
    assert not mentions(code)
