"""Layers whose sizes are listed, and carries that layers write into, rewritten and held against the Python loop."""

import pytest

from scanify.analysis.plan import Refusal
from tests.against_loop import PRELUDE, model, rewritten, same

SIZES = """\
hidden = {hidden}
if isinstance(hidden, int):
    hidden = (hidden,) * 5
sizes = (4,) + tuple(hidden) + (4,)
self.layers = [Block(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], jr.split(key, len(sizes) - 1))]
"""
LOOP = "for layer in self.layers:\n    x = layer(x)\nreturn x"


@pytest.mark.parametrize("hidden", ["4", "(6, 6, 6, 6)", "(6, 6, 6, 3, 3, 3, 3)", "(8, 2, 5)"])
def test_layers_compute_the_same_whichever_sizes_repeat(hidden):
    text = model(LOOP, SIZES.replace("{hidden}", "hidden")).replace(
        "def __init__(self, key)", "def __init__(self, key, hidden=HIDDEN)"
    )
    same(f"HIDDEN = {hidden}\n{text}")


IMAGE = """\
@jax.tree_util.register_pytree_node_class
class Image:
    def __init__(self, data, scale=None):
        self.data = data
        self.scale = scale

    def with_data(self, data):
        return self.__class__(data, self.scale)

    def tree_flatten(self):
        return (self.data,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


class Scaled(eqx.Module):
    block: Block

    def __init__(self, dim, *, key):
        self.block = Block(dim, key=key)

    def __call__(self, x: Image):
        if x.scale is None:
            x.scale = 2.0
        return x.with_data(self.block(x.data) * x.scale)


"""


def test_a_carry_that_layers_write_into_is_refused():
    call = "image = Image(x)\nfor layer in self.layers:\n    image = layer(image)\nreturn image.data"
    text = model(call, "self.layers = [Scaled(4, key=k) for k in jr.split(key, 5)]")
    _, (refusal,) = rewritten(text.replace(PRELUDE, PRELUDE + IMAGE), count=0)
    assert isinstance(refusal, Refusal) and refusal.rule == "SCN207"
