"""Layers that are given to what the source does not show before they are in a list: there they may be kept.

A weak reference to a layer is empty once the layer is stacked and nothing else holds it.
"""

import pytest
from helpers import only

from scanify.analysis.plan import Plan

MODEL = """\
{top}
import equinox as eqx
import jax

KEPT = {kept}


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)
        {inside}

    def product(self, x):
        return self.linear(x)

    def __call__(self, x):
        return x + self.linear(x)


def keep(block):
    {keep}
    return block


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [keep(Block(k)) for k in jax.random.split(key, 5)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def is_safe(top: str, kept: str, keep: str, inside: str = "pass") -> bool:
    found = only(MODEL.format(top=top, kept=kept, keep=keep, inside=inside))
    assert isinstance(found, Plan), found
    return found.safe


KEPT = {
    "a weak reference": ("import weakref", "[]", "KEPT.append(weakref.ref(block))"),
    "a weak reference with a callback": ("import weakref", "[]", "KEPT.append(weakref.ref(block, print))"),
    "a proxy": ("import weakref", "[]", "KEPT.append(weakref.proxy(block))"),
    "a set of weak references": ("import weakref", "weakref.WeakSet()", "KEPT.add(block)"),
    "a value of a weak dict": ("import weakref", "weakref.WeakValueDictionary()", "KEPT[len(KEPT)] = block"),
    "a key of a weak dict": ("import weakref", "weakref.WeakKeyDictionary()", "KEPT[block] = 1"),
    "a weak method": ("import weakref", "[]", "KEPT.append(weakref.WeakMethod(block.product))"),
    "what ends with it": ("import weakref", "[]", "weakref.finalize(block, KEPT.append, 1)"),
    "a library that is not shown": ("import registry", "[]", "registry.track(block)"),
    "an object of one": ("import registry", "registry.Table()", "KEPT.track('block', block)"),
}


@pytest.mark.parametrize("name", KEPT)
def test_layers_that_may_be_kept_elsewhere_are_not_safe(name: str) -> None:
    assert not is_safe(*KEPT[name])


def test_a_layer_may_give_itself() -> None:
    assert not is_safe("import weakref", "[]", "pass", "KEPT.append(weakref.ref(self))")
