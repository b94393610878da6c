"""Names that are bound to more of themselves in a loop are lists that grow, where nobody sees them on the way."""

import pytest
from helpers import decide, model

from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import InitStack

BUILD = "layers = {start}\nfor k in jr.split(key, depth):\n    {grow}\nself.layers = layers"


@pytest.mark.parametrize("start", ["()", "tuple()"])
def test_layers_are_stacked_where_they_are_built(start: str) -> None:
    (plan,) = decide(model(init=BUILD.format(start=start, grow="layers += (Block(8, key=k),)")))
    assert isinstance(plan, Plan) and plan.safe and isinstance(plan.stack, InitStack)


@pytest.mark.parametrize("grow", ["layers = layers + [Block(8, key=k)]", "layers = [*layers, Block(8, key=k)]"])
def test_a_new_list_for_each_layer_is_undecided(grow: str) -> None:
    (found,) = decide(model(init=BUILD.format(start="[]", grow=grow)))
    assert isinstance(found, Refusal) and found.undecided is not None


@pytest.mark.parametrize(
    "grow",
    [
        "layers += (Block(8, key=k) if k is key else Other(),)",  # another class for some
        "layers = (*layers, Block(8, key=k))\n    if depth > 2:\n        layers += (Other(),)",
        "stages.append(layers)\n    layers += (Block(8, key=k),)",  # what it was before is kept
        "layers += (Block(len(layers), key=k),)",  # and asked for
    ],
)
def test_layers_that_differ_or_are_seen_on_the_way_are_not_taken_for_equal(grow: str) -> None:
    init = "stages = []\n" + BUILD.format(start="()", grow=grow) + "\nself.stages = stages"
    (plan,) = decide(model(init=init))
    assert isinstance(plan, Refusal) or not plan.safe or plan.kind.value == "group"
