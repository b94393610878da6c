"""Which of the constructor calls that a run made is written for a module of the run."""

import equinox as eqx
import jax.numpy as jnp
import pytest

from scanify.propose.recorded.expressions import Unwritable, Writer
from scanify.propose.values.expression import show
from scanify.verify.recorded.call import Construction
from scanify.verify.recorded.snapshot import snapshot


class Layer(eqx.Module):
    weight: object
    mode: str = eqx.field(static=True)

    def __init__(self, mode):
        self.weight, self.mode = jnp.ones(3), mode


def written(mode: str, *seen: str) -> str:
    made = [Construction(Layer, snapshot(((each,), {}))) for each in seen]
    writer = Writer({"Layer": Layer}, {Layer: made})
    return show(writer.write(Layer(mode)), 0)


def test_of_two_with_equal_arrays_that_with_the_static_fields_of_the_run_is_written():
    assert written("full", "causal", "full") == 'module.Layer("full")'.replace('"', "'")


def test_a_module_whose_static_fields_no_call_gives_is_not_written():
    with pytest.raises(Unwritable, match="is like this one"):
        written("full", "causal")
