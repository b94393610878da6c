"""What a case says of the layers of a loop: how many, and which of them are equal but for arrays."""

import sys
from types import SimpleNamespace

import pytest

from scanify.verify.cases.seen_layers import seen_layers


@pytest.mark.parametrize(("rates", "kinds"), [([0.0, 0.0, 0.0], 1), ([0.0, 0.1, 0.1], 2)])
def test_layers_of_flax_nnx_are_of_one_kind_if_they_differ_in_arrays_alone(rates, kinds):
    nnx = pytest.importorskip("flax.nnx")
    layers = nnx.List([nnx.Dropout(rate, rngs=nnx.Rngs(at)) for at, rate in enumerate(rates)])
    found = seen_layers(sys._getframe(), SimpleNamespace(lists=("layers",)))
    assert found is not None and (found.name, found.count, found.kinds) == ("layers", len(layers), kinds)
