"""Code that is made of itself, or nested deeply: an analysis of it ends, and says what it says of other code."""

import sys

import pytest
from helpers import decide

from scanify.analysis.plan import Plan
from scanify.cli import DEEPEST

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x, tree: {annotation} = None):
        return self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 3)]

    def __call__(self, x, tree: {annotation} = None):
        for layer in self.layers:
            x = layer(x, tree)
        return {result}
"""

TYPES = {
    "a union with a list of itself": "Tree = Union[jax.Array, list['Tree']]",
    "itself": "Tree = 'Tree'",
    "two names, each made of the other": "Tree = Union[jax.Array, 'Other']\nOther = Union[float, list[Tree]]",
    "a dict of itself": "Tree = dict[str, 'Tree']",
}


@pytest.mark.parametrize("alias", TYPES.values(), ids=TYPES)
def test_a_name_for_a_type_may_be_made_of_itself(alias):
    text = f"from typing import Union\n{alias}\n\n\n" + MODEL.format(annotation="Tree", result="x")
    (decision,) = decide(text)
    assert isinstance(decision, Plan), decision


@pytest.fixture
def as_the_command():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST)
    yield
    sys.setrecursionlimit(before)


DEEP = {
    "a sum of many terms": " + ".join(["x"] * 1_500),
    "a chain of calls": "x" + ".at[0].add(1)" * 400,
}


@pytest.mark.parametrize("result", DEEP.values(), ids=DEEP)
def test_an_expression_may_be_nested_deeply(result, as_the_command):
    (decision,) = decide(MODEL.format(annotation="float", result=result))
    assert isinstance(decision, Plan), decision


def test_a_class_may_inherit_through_many():
    chain = "\n\n".join(f"class C{at + 1}(C{at}):\n    pass" for at in range(15))
    more = f"\n\nclass C0(Block):\n    pass\n\n\n{chain}\n\n\nclass More(Model):\n    def __init__(self, key):\n"
    more += "        self.layers = [C15(k) for k in jax.random.split(key, 3)]\n"
    (decision,) = decide(MODEL.format(annotation="float", result="x") + more)
    assert isinstance(decision, Plan), decision


@pytest.mark.parametrize("nested", ["{'last': before}", "[before]", "{'rest': [before]}"])
def test_a_collection_may_hold_itself(nested):
    text = MODEL.format(annotation="float", result="x")
    around = f"""

def walk(model, x, events):
    seen = {{}}
    before = seen
    for event in events:
        seen["last"] = {nested}
        before = seen
        x = model(x)
    for layer in model.layers:
        x = layer(x, before)
    return x
"""
    assert any(isinstance(each, Plan) for each in decide(text + around))
