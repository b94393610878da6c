"""What the callers of a constructor say of a class that it is given, however many calls lie between."""

import pytest
from helpers import only

from scanify.analysis.plan import Plan
from tests.texts import texts

HEAD = """\
import equinox as eqx
import equinox.experimental as eqxe
import jax
import jax.random as jr


class Normed(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.Module

    def __init__(self, dim, norm_layer=None, *, key):
        if norm_layer is None:
            norm_layer = eqxe.BatchNorm
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.norm = norm_layer(dim, axis_name="batch")

    def __call__(self, x, *, key=None):
        return self.norm(self.linear(x))


class Plain(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, norm_layer=None, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x, *, key=None):
        return x + self.linear(x)


"""
STAGES = """\
class Net(eqx.Module):
    first: list
    second: list

    def __init__(self, block{annotation}, depths, dims, norm_layer=None, *, key):
        self.first = self._stage(block, depths[0], dims[0], norm_layer, key)
        self.second = self._stage(block, depths[1], dims[1], norm_layer, key)

    def _stage(self, block, depth, dim, norm_layer, key):
        layers = []
        for k in jr.split(key, depth):
            layers.append(block(dim, norm_layer=norm_layer, key=k))
        return layers

    def __call__(self, x, key):
        for layer in [*self.first, *self.second]:
            x = layer(x, key=key)
        return x


def _net(block, depths, **kwargs):
    return Net(block, depths, (8, 16), **kwargs)

"""
SMALL = """
def small(**kwargs):
    return _net({block}, [2, 2], **kwargs)


def large(**kwargs):
    return _net({block}, [3, 4], **kwargs)
"""


def stages(block: str, annotation: str = "", calls: str = SMALL) -> str:
    return HEAD + STAGES.format(annotation=annotation) + calls.format(block=block)


MANY = """\
class Net(eqx.Module):
    layers: list

    def __init__(self, depth, dim, *, key):
        self.layers = [
            eqx.nn.Linear(dim, dim, key=key), eqx.nn.LayerNorm(dim), eqx.nn.Lambda(jax.nn.relu), eqx.nn.Dropout(0.1),
            eqx.nn.Conv1d(1, 1, 1, key=key), eqx.nn.RMSNorm(dim), eqx.nn.Identity(), eqx.nn.PReLU(), eqx.nn.MLP(
            dim, dim, dim, 2, key=key),
            *[{block}(dim, key=k) for k in jr.split(key, depth)]]

    def __call__(self, x, key):
        for layer in self.layers:
            x = layer(x, key=key)
        return x
"""


def test_no_kind_of_layer_is_lost_among_many():
    found = only(HEAD + MANY.format(block="Normed"))
    assert isinstance(found, Plan) and any(
        "`self.norm()` is not understood" in each for each in texts(found.obligations)
    )
    assert isinstance(only(HEAD + MANY.format(block="Plain")), Plan)


INHERITS = """\
class Stage(eqx.nn.Sequential):
    def __init__(self, before, after, depth, *, key):
        super().__init__([{block}(after, key=k) for k in jr.split(key, depth)])


class Net(eqx.Module):
    stages: list

    def __init__(self, dim, *, key):
        self.stages = [Stage({sizes}, 3, key=k) for i, k in enumerate(jr.split(key, 4))]

    def __call__(self, x):
        for stage in self.stages:
            x = stage(x)
        return x
"""


def test_a_class_that_is_a_sequential_is_not_understood():
    for block in ("Normed", "Plain"):
        found = only(HEAD + INHERITS.format(block=block, sizes="dim, dim"))
        assert isinstance(found, Plan) and not found.safe


@pytest.mark.parametrize(
    "block", ["Normed", "Plain", "partial(Normed, norm_layer=partial(eqxe.BatchNorm, momentum=0.9))"]
)
@pytest.mark.parametrize("annotation", ["", "=Normed", ": eqx.Module = Normed", ": type = Normed"])
def test_a_class_that_callers_give_is_not_shown(block, annotation):
    text = stages(block, annotation).replace("depths, dims,", "depths=(2, 3), dims=(8, 8),")
    assert not isinstance(only("from functools import partial\n" + text), Plan)
