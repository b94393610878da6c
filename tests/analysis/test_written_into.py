"""Layers that other code writes into after they were made may differ in more than arrays: no `ArrayStacked` holds them."""

from pathlib import Path

import pytest

from scanify.analysis import analyse
from scanify.analysis.plan import CallStack, Holds, Plan, Refusal
from scanify.source.file import Source
from tests.analysis.helpers import model, only

WRITES = """\
from model import Model


def calibrate(chain, xs):
    for layer in chain.layers:
        object.__setattr__(layer, "{name}", {value})


def last(model: Model, xs):
    object.__setattr__(model.layers[-1], "{name}", {value})
"""
READ = "def calibrate(chain, xs):\n    return [layer.linear for layer in chain.layers]\n"


def held(other: str) -> Plan:
    found = analyse([Source(Path("model.py"), model()), Source(Path("other.py"), other)]).loops
    (plan,) = (each for each in found if each.place.path == Path("model.py"))
    assert isinstance(plan, Plan), plan
    return plan


@pytest.mark.parametrize(("name", "value"), [("ceiling", "float(xs.max())"), ("residual", "False"), ("linear", "xs")])
def test_layers_that_are_written_into_are_held_one_by_one(name: str, value: str) -> None:
    plan = held(WRITES.format(name=name, value=value))
    assert isinstance(plan.stack, CallStack)
    assert plan.holds is Holds.BLOCK_SEQ


def test_layers_that_are_read_are_one_stack() -> None:
    assert held(READ).holds is Holds.ARRAY_STACKED


META = """\
class Meta(type(eqx.Module)):
    def __call__(cls, *args, rate=0.0, **kwargs):
        made = super().__call__(*args, **kwargs)
        return made if rate == 0.0 else Other()


class Block(eqx.Module, metaclass=Meta):
    linear: eqx.nn.Linear

    def __init__(self, dim, *, key):"""


def of_metaclass(built: str) -> Plan | Refusal:
    text = model(init=built)
    start, end = text.index("class Block("), text.index("        self.linear = eqx.nn.Linear(dim, dim, key=key)")
    return only(text[:start] + META + "\n" + text[end:])


def test_a_metaclass_may_make_another_object_of_what_the_class_is_not_given() -> None:
    """`rate` goes to no field of the block, and yet decides of which class it is."""
    differing = "self.layers = [Block(8, key=k, rate=r) for r, k in zip(depth, jr.split(key, 4))]"
    found = of_metaclass(differing)
    assert isinstance(found, Refusal) or found.holds is Holds.BLOCK_SEQ, found
    same = of_metaclass("self.layers = [Block(8, key=k) for k in jr.split(key, 4)]")
    assert isinstance(same, Plan), same
