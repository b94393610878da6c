"""Whether one layer object, or one array, may be in several places of a list: no stack is made of such a list."""

import textwrap

import pytest
from helpers import decide

from scanify.analysis.plan import Plan, Refusal

MODEL = """
import copy
import functools
import itertools
import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

TABLE = jnp.arange(7.0)

class Layer(eqx.Module):
    w: Array
    t: Array

    def __init__(self, d, key, t=None):
        self.w = jax.random.normal(key, (d,))
        self.t = jnp.zeros(d) if t is None else t

    def __call__(self, x):
        return x + jnp.tanh(self.w * x)

class Model(eqx.Module):
    layers: list

    def __init__(self, d, n, table: Array, key):
        keys = jax.random.split(key, n)
        blocks = [Layer(d, k) for k in keys]
        first = Layer(d, key)
        @INIT@

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def decided(init: str, model: str = MODEL) -> list[Plan | Refusal]:
    return decide(model.replace("@INIT@", textwrap.indent(init, " " * 8).lstrip()))


SHARED = [
    "self.layers = [*blocks[:-1], blocks[0]]",
    "self.layers = blocks[:-1] + [blocks[0]]",
    "self.layers = blocks[:-1] + blocks[:1]",
    "self.layers = blocks[1:] + blocks[-1:]",
    "self.layers = blocks + blocks",
    "self.layers = [*blocks, *blocks]",
    "self.layers = blocks * 2",
    "self.layers = [b for b in blocks for _ in range(2)]",
    "self.layers = [blocks[i % 2] for i in range(n)]",
    "self.layers = [blocks[0] for i in range(n)]",
    "self.layers = [blocks[min(i, 2)] for i in range(n)]",
    "blocks.append(blocks[0])\nself.layers = blocks",
    "blocks.insert(0, blocks[-1])\nself.layers = blocks",
    "blocks.extend(blocks[:2])\nself.layers = blocks",
    "blocks += blocks[:2]\nself.layers = blocks",
    "blocks[2] = blocks[0]\nself.layers = blocks",
    "for _ in range(2):\n    blocks.extend(blocks)\nself.layers = blocks",
    "b = blocks[0]\nself.layers = [b, *blocks]",
    "b, *_ = blocks\nself.layers = [b, *blocks]",
    "b = blocks[0]\nblocks.insert(0, first)\nself.layers = [b, *blocks[1:]]",
    "self.layers = [first] + blocks + [first]",
    "self.layers = [first for _ in range(n)]",
    "self.layers = [x for pair in zip(blocks, blocks) for x in pair]",
    "self.layers = []\nfor b in blocks:\n    self.layers.append(b)\n    self.layers.append(b)",
    "self.layers = []\nfor b in blocks:\n    self.layers.append(b)\n    self.layers.append(first)",
    "self.layers = []\nfor i in range(n):\n    self.layers.append(blocks[i // 2])",
    "self.layers = []\nfor k in keys:\n    b = Layer(d, k)\n    for _ in range(2):\n        self.layers.append(b)",
    "self.layers = []\nfor i, k in enumerate(keys):\n    if i % 2 == 0:\n        b = Layer(d, k)\n    self.layers.append(b)",
    "last = first\nself.layers = []\nfor k in keys:\n    if d:\n        last = Layer(d, k)\n    self.layers.append(last)",
    "get = lambda i: blocks[i % 3]\nself.layers = [get(i) for i in range(n)]",
    "kept = {}\nself.layers = [kept.setdefault(i % 2, Layer(d, k)) for i, k in enumerate(keys)]",
    "kept = {'a': first}\nself.layers = [kept['a'] for k in keys]",
    "kept = {}\nfor i, k in enumerate(keys):\n    kept[i % 2] = Layer(d, k)\nself.layers = [kept[i % 2] for i in range(n)]",
    "self.layers = [b if i % 2 else first for i, b in enumerate(blocks)]",
    "self.layers = list(map(lambda k: first, range(n)))",
    "self.layers = blocks\nself.layers = [*self.layers[:-1], self.layers[0]]",
    "self.layers = [blocks[0], blocks[1], blocks[0]]",
    "a, b, c = blocks[:3]\nself.layers = [a, b, a]",
    "a = blocks[0]\nb = blocks[0]\nself.layers = [a, b, first]",
    # one array in all layers
    "self.layers = [Layer(d, k, table) for k in keys]",
    "self.layers = [Layer(d, k, TABLE) for k in keys]",
    "own = jnp.ones(3)\nself.layers = [Layer(d, k, own) for k in keys]",
    "self.layers = [Layer(d, k, jnp.asarray(table)) for k in keys]",
    "self.layers = [copy.copy(first) for k in keys]",
    "self.layers = [eqx.tree_at(lambda l: l.w, b, table) for b in blocks]",
    "self.layers = [eqx.tree_at(lambda l: l.t, b, replace=first.t) for b in blocks]",
    "self.layers = [eqx.tree_at(lambda l: (l.w, l.t), b, (b.w * 2, TABLE)) for b in blocks]",
    "self.layers = [Layer(d, k, first.t) for k in keys]",
    "self.layers = [Layer(d, k, (table,)) for k in keys]",
    "self.layers = [Layer(d, k, {'t': first}) for k in keys]",
    "self.layers = [Layer(d, k, first if d else table) for k in keys]",
    "given = {'t': first}\nself.layers = [Layer(d, k, **given) for k in keys]",
    "own = table.T\nself.layers = [Layer(d, k, own) for k in keys]",
    "own = other = jnp.ones(3)\nself.layers = [Layer(d, k, other) for k in keys]",
    "own = {0: table}\nself.layers = [Layer(d, k, own[0]) for k in keys]",
    "self.embedding = eqx.nn.Embedding(3, 4, key=key)\nself.layers = [Layer(d, k, self.embedding.weight) for k in keys]",
    "own = jnp.asarray(first.t)\nself.layers = [Layer(d, k, jnp.asarray(own)) for k in keys]",
    "norm = eqx.nn.LayerNorm(d)\nself.layers = [Layer(d, k, norm.weight) for k in keys]",
    "self.layers = []\nfor i, k in enumerate(keys):\n    if i % 3 == 0:\n        b = Layer(d, k)\n    elif i % 3 == 1:\n        b = Layer(d, k)\n    self.layers.append(b)",
    "w = blocks[0].w\nblocks = [eqx.tree_at(lambda l: l.w, b, w) for b in blocks]\nself.layers = blocks",
]

APART = [
    "self.layers = blocks",
    "self.layers = [first, *blocks]",
    "self.layers = []\nfor k in keys:\n    b = Layer(d, k)\n    self.layers.append(b)",
    "self.layers = [Layer(d, k, table * 2) for k in keys]",
    "self.layers = [Layer(d, k, jnp.ones(3)) for k in keys]",
]


@pytest.mark.parametrize("init", SHARED)
def test_what_may_be_in_a_list_twice_is_not_stacked(init):
    assert not any(isinstance(each, Plan) and each.safe for each in decided(init))


@pytest.mark.parametrize("init", APART)
def test_layers_of_which_each_is_another_object_are_stacked(init):
    found = decided(init)
    assert [isinstance(each, Plan) and each.safe for each in found] == [True], found


@pytest.mark.parametrize(
    ("init", "reason"),
    [
        ("self.layers = [*blocks[:-1], blocks[0]]", "several layers may be one object, `blocks[0]`"),
        ("self.layers = [first] + blocks + [first]", "several layers may be one object, `Layer(d, key)`"),
        ("self.layers = [Layer(d, k, TABLE) for k in keys]", "every layer is given the same array, `TABLE`"),
    ],
)
def test_the_reason_names_what_is_shared(init, reason):
    (found,) = decided(init)
    assert isinstance(found, Refusal)
    assert (found.rule, found.reason.partition(";")[0]) == ("SCN204", reason)


def test_pairs_that_hold_one_layer_are_not_stacked():
    model = MODEL.replace(
        "for layer in self.layers:\n            x = layer(x)", "for a, b in self.layers:\n            x = b(a(x))"
    )
    for init in (
        "self.layers = [(b, first) for b in blocks]",
        "pair = (first, first)\nself.layers = [pair for k in keys]",
    ):
        assert not any(isinstance(each, Plan) and each.safe for each in decided(init, model))


KEPT = {
    "an array of the module": {"self.t = jnp.zeros(d) if t is None else t": "self.t = TABLE"},
    "an array of a module's layer": {"self.t = jnp.zeros(d) if t is None else t": "self.t = EMBEDDING.weight"},
    "a constant of the class": {"self.t = jnp.zeros(d) if t is None else t": "self.t = Layer.OWN", "    w: Array": "    OWN = jnp.ones(3)\n    w: Array"},
    "a default of a parameter": {"key, t=None):": "key, t=TABLE):"},
    "a default of a field": {"    t: Array": "    t: Array = TABLE", "        self.t = jnp.zeros(d) if t is None else t\n": ""},
    "what a cached function gives": {"self.t = jnp.zeros(d) if t is None else t": "self.t = cached(d)"},
}  # fmt: skip
BESIDE = "EMBEDDING = eqx.nn.Embedding(3, 4, key=jax.random.key(0))\n\n\n@functools.lru_cache\ndef cached(d):\n    return jnp.zeros(d)\n\n\nclass Layer("


@pytest.mark.parametrize("name", KEPT)
def test_what_a_class_keeps_in_each_layer_is_not_stacked(name):
    model = MODEL.replace("class Layer(", BESIDE, 1)
    assert all(isinstance(each, Plan) and each.safe for each in decided("self.layers = blocks", model))
    for before, after in KEPT[name].items():
        assert model.count(before) == 1
        model = model.replace(before, after)
    (found,) = decided("self.layers = blocks", model)
    assert isinstance(found, Refusal) and found.rule == "SCN204"
    assert found.reason.startswith("every layer holds the same ")
