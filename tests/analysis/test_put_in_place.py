"""Methods that code puts in the place of others, builders that a subclass overrides, and what is made on the spot."""

import pytest
from helpers import LOOP, decide, model, only

from scanify.analysis.plan import Plan, Refusal
from tests.texts import texts

BLOCK = "        return x + self.linear(x)\n"


@pytest.mark.parametrize(
    "patch",
    [
        "\n\ndef patched(cls):\n    call = cls.__call__\n    cls.__call__ = lambda self, x: call(self, x)\n\n\npatched(Block)\n",
        "\n\nBlock.__call__ = helper\n",
        "\n\nsetattr(Block, '__call__', helper)\n",
    ],
)
def test_a_method_that_is_put_in_place_of_another_is_for_a_run(patch):
    found = only(model() + patch)
    assert isinstance(found, Plan)
    assert any("is not understood" in each for each in texts(found.obligations))


def test_a_builder_that_a_subclass_overrides():
    counting = "\n\nSEEN = []\n\n\nclass Counting(Block):\n    def __call__(self, x):\n        SEEN.append(1)\n        return x\n"
    heir = "\n\nclass Deep(Model):\n    def one(self, k):\n        return Counting(8, key=k)\n"
    text = model(LOOP, "self.layers = [self.one(k) for k in jr.split(key, depth)]")
    text += "\n    def one(self, k):\n        return Block(8, key=k)\n"
    assert isinstance(only(text), Plan)
    assert not any(isinstance(each, Plan) and each.safe for each in decide(text + counting + heir))


def test_a_marker_that_is_compared_is_no_effect():
    text = model().replace("class Block", "MARKER = object()\n\n\nclass Block", 1)
    found = only(text.replace(BLOCK, "        return x + self.linear(x) if MARKER is not self else x\n"))
    assert isinstance(found, Plan), found


def test_an_iterator_of_all_layers_is_an_effect():
    text = model().replace("class Block", "TURNS = iter(range(9))\n\n\nclass Block", 1)
    found = only(text.replace(BLOCK, "        return x * next(TURNS)\n"))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN207"


READING = """\
    rate: float = 2.0

    def __call__(self, x, mask=None, *, key=None):
        return x + self.rate * jax.nn.silu(self.linear(x))
"""
PUT = {
    "a property": "Block.rate = property(lambda self: next(COUNT))",
    "a property by its name": "setattr(Block, 'rate', property(lambda self: next(COUNT)))",
    "what is asked for all names": "Block.__getattribute__ = lambda self, name: next(COUNT)",
    "a function of a library": "jax.nn.silu = lambda x: x * next(COUNT)",
    "a function of a library by its name": "setattr(jax.nn, 'silu', lambda x: x * next(COUNT))",
    "a method by a mock": "mock.patch.object(Block, '__call__', lambda self, x: x * next(COUNT)).start()",
    "a function of a library by a mock": "mock.patch('jax.nn.silu', lambda x: x * next(COUNT)).start()",
}


@pytest.mark.parametrize("put", [*PUT.values(), "Block.name = 'block'", "jax.nn.gelu = helper", "mock.patch('os.sep')"])
def test_what_is_put_in_place_of_something_that_a_layer_runs_is_for_a_run(put):
    text = model()
    start, end = text.index("    def __call__(self, x, mask=None"), text.index("    def attend")
    found = only(
        f"import itertools\nfrom unittest import mock\n{text[:start]}{READING}\n{text[end:]}\n\nCOUNT = itertools.count()\n{put}\n"
    )
    assert isinstance(found, Plan), found
    assert found.safe == (put not in PUT.values()), texts(found.obligations)
