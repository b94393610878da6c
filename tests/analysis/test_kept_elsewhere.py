"""Layers that are given to what the source does not show before they are in a list: there they may be kept.

A weak reference to a layer is empty once the layer is stacked and nothing else holds it.
"""

import pytest
from helpers import only

from scanify.analysis.plan import CallStack, InitStack, Plan

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


def stack_of(top: str, kept: str, keep: str, inside: str = "pass") -> InitStack | CallStack:
    found = only(MODEL.format(top=top, kept=kept, keep=keep, inside=inside))
    assert isinstance(found, Plan), found
    return found.stack


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
def test_the_list_stays_where_layers_may_be_kept_elsewhere(name: str) -> None:
    stack = stack_of(*KEPT[name])
    assert isinstance(stack, CallStack) and "is given a layer, and may keep it" in stack.reason, stack


def test_a_layer_may_give_itself() -> None:
    stack = stack_of("import weakref", "[]", "pass", "KEPT.append(weakref.ref(self))")
    assert isinstance(stack, CallStack) and "`weakref.ref(self)` is given a layer" in stack.reason, stack


@pytest.mark.parametrize(
    ("top", "kept", "keep"),
    [
        ("", "[]", "KEPT.append(block)"),
        ("", "{}", "KEPT[len(KEPT)] = block"),
        ("import weakref", "[]", "KEPT.append(weakref.ref(keep))"),
        ("import registry", "[]", "registry.track(type(block).__name__)"),
    ],
    ids=["a list", "a dict", "a weak reference to something else", "a name is given"],
)
def test_what_holds_the_layers_themselves_holds_them_still(top: str, kept: str, keep: str) -> None:
    assert isinstance(stack_of(top, kept, keep), InitStack)
