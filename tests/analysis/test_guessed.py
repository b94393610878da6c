"""What functions do with the list of a model that nothing annotates: the same whether a loop stands in them or not."""

import pytest
from helpers import decide, model

from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack

LOOPS = {
    "none": "",
    "over something else": "for step in range(3):\n    y = y + step",
    "over layers": "for layer in [model.layers[0]]:\n    y = layer(y)",
    "over a copy": "for layer in model.layers[::-1]:\n    y = layer(y)",
}


def stack(loop: str, use: str):
    lines = "".join(f"    {line}\n" for line in f"{use}\n{loop}\nreturn y".split("\n"))
    text = f"{model()}\n\ndef use(model, y):\n{lines}"
    (found,) = (each for each in decide(text) if each.container == "self.layers")
    return found.stack if isinstance(found, Plan) else found


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("use", ["model.layers.append(y)", "model.layers.pop()", "model.layers[0] = y"])
def test_a_list_that_is_changed_is_no_stack(use, loop):
    assert isinstance(stack(loop, use), CallStack | Refusal)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize(
    "use",
    ["y = y * (model.layers.__class__ is list)", "layers = model.layers.copy()", "y = isinstance(model.layers, list)"],
)
def test_what_a_stack_has_not_keeps_the_list(use, loop):
    assert isinstance(stack(loop, use), CallStack)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
@pytest.mark.parametrize("use", ["y = y * len(model.layers)", "y = model.layers[-1](y)", "layers = list(model.layers)"])
def test_what_a_stack_has_too_does_not(use, loop):
    assert isinstance(stack(loop, use), InitStack)


SHARED = """\

class Tied(eqx.Module):
    shared: eqx.nn.Shared

    def __init__(self, key):
        parts = (Model(8, 3, key=key), eqx.nn.Linear(8, 8, key=key))
        self.shared = eqx.nn.Shared(parts, {places})
"""


@pytest.mark.parametrize(
    "places",
    [
        "lambda p: p[0].layers[-1].linear.weight, lambda p: p[1].weight",
        "where=lambda p: p[1].weight, get=lambda p: p[0].layers[0].linear.weight",
    ],
)
def test_what_shared_reaches_into_stays_a_list(places):
    (found,) = (each for each in decide(model() + SHARED.format(places=places)) if each.container == "self.layers")
    assert isinstance(found, Plan) and isinstance(found.stack, CallStack)


def test_what_shared_does_not_reach_into_becomes_a_stack():
    text = model() + SHARED.format(places="lambda p: p[1].weight, lambda p: p[1].weight")
    (found,) = (each for each in decide(text) if each.container == "self.layers")
    assert isinstance(found, Plan) and isinstance(found.stack, InitStack)
