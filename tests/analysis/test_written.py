"""Code elsewhere that writes into layers, or puts another list in their place: the list then stays one."""

import pytest
from helpers import INIT, kept, model, only

from scanify.analysis.plan import CallStack, InitStack, Plan, Refusal

HELP = """\
import dataclasses


def put(layer, w):
    object.__setattr__(layer.linear, "weight", w)


def show(layer, w):
    return layer.linear.weight + w

"""


METHODS = """\
    def load(self, w):
        object.__setattr__(self, "linear", w)

    def read(self, w):
        return self.linear.weight + w

    def attend(
"""
MODEL = model().replace("    def attend(", METHODS.rstrip(), 1)


def stack(use: str):
    lines = "".join(f"    {line}\n" for line in use.split("\n"))
    found = only(f"{MODEL}{HELP}\n\ndef use(model, w, i):\n{lines}")
    assert isinstance(found, Plan), found
    return found.stack


@pytest.mark.parametrize(
    "use",
    [
        "for layer in model.layers:\n    object.__setattr__(layer.linear, 'weight', w)",
        "for i, layer in enumerate(model.layers):\n    setattr(layer, 'linear', w[i])",
        "for layer, v in zip(model.layers, w):\n    layer.linear.weight = v",
        "for layer in model.layers:\n    part = layer.linear\n    part.weight[0] = w",
        "for layer in model.layers:\n    for name in w:\n        object.__setattr__(getattr(layer, name), 'weight', w)",
        "for layer in model.layers:\n    put(layer, w)",
        "for layer in model.layers:\n    put(w=w, layer=layer)",
        "for layer in model.layers:\n    layer.load(w)",
        "[put(layer, w) for layer in model.layers]",
        "object.__setattr__(model.layers[i].linear, 'weight', w)",
        "model.layers[0].linear.weight = w",
        "layer = model.layers[i]\nobject.__setattr__(layer, 'linear', w)",
        "part = model.layers[i].linear\npart.weight[0] = w",
        "made = Model(2, key=w)\nobject.__setattr__(made.layers[0], 'linear', w)",
        "object.__setattr__(model, 'layers', w)",
        "return dataclasses.replace(model, layers=w)",
    ],
)
def test_a_list_whose_layers_are_written_into_stays_one(use):
    assert isinstance(stack(use), CallStack)


@pytest.mark.parametrize(
    "use",
    [
        "for layer in model.layers:\n    show(layer, w)",
        "for layer in model.layers:\n    layer.read(w)",
        "for layer in model.layers:\n    object.__setattr__(w, 'layer', layer)",
        "for i, layer in enumerate(model.layers):\n    w[i] = layer.linear.weight",
        "for layer, v in zip(model.layers, w):\n    v.linear.weight = layer.linear.weight",
        "w.weight = model.layers[0].linear.weight",
        "object.__setattr__(model, 'norm', w)",
        "object.__setattr__(w, 'weight', model.layers[i].linear)",
        "return dataclasses.replace(model, norm=w)",
        "n = len(model.layers)",
    ],
)
def test_a_list_whose_layers_are_read_is_built_stacked(use):
    assert isinstance(stack(use), InitStack)


def built(line: str):
    """What is decided where the constructor goes on after it has built the list."""
    return only(kept(model(init=f"{INIT}\n{line}")).replace("class Model", f"{LATER}class Model", 1))


LATER = """\
def put(layer, w):
    object.__setattr__(layer.linear, "weight", w)


"""


@pytest.mark.parametrize(
    "line",
    [
        "for i in range(0, depth, 2):\n    object.__setattr__(self.layers[i].linear, 'weight', jnp.zeros((8, 8)))",
        "for layer in self.layers[::2]:\n    object.__setattr__(layer.linear, 'weight', jnp.zeros((8, 8)))",
        "object.__setattr__(self.layers[0], 'rate', 0.0)",
        "put(self.layers[0], jnp.zeros((8, 8)))",
        "first, *rest = self.layers\nput(first, jnp.zeros((8, 8)))",
        "vars(self.layers[0])['linear'] = eqx.nn.Linear(8, 8, key=key)",
        "self.layers[0].__dict__.update(linear=eqx.nn.Linear(8, 8, key=key))",
        "put(max(self.layers, key=lambda layer: layer.linear.weight.sum()), jnp.zeros((8, 8)))",
    ],
)
def test_a_list_whose_layers_the_constructor_writes_into_stays_one(line):
    assert isinstance(built(line).stack, CallStack)


@pytest.mark.parametrize(
    "line",
    [
        "for i, layer in enumerate(self.layers):\n    object.__setattr__(layer, 'rate', 0.1 * i)",
        "for layer in self.layers[::2]:\n    object.__setattr__(layer, 'rate', 0.5)",
        "for i, layer in enumerate(self.layers):\n    if i % 2:\n        object.__setattr__(layer, 'rate', 0.5)",
    ],
)
def test_layers_that_are_given_different_numbers_are_unlike(line):
    assert isinstance(built(line), Refusal)
