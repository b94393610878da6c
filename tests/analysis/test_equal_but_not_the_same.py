"""Numbers that Python calls equal and that compute different things: layers that differ in them share no body."""

import pytest
from helpers import PRELUDE, only

from scanify.analysis.plan import Holds, Refusal

MODEL = (
    PRELUDE
    + """
    def __init__(self, depth, *, key):
        side = {first}
        self.layers = []
        for k in jr.split(key, depth):
            self.layers.append(Sided(side, k))
            side = {then}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Sided(eqx.Module):
    linear: eqx.nn.Linear
    side: float = eqx.field(static=True)

    def __init__(self, side, key):
        self.linear = eqx.nn.Linear(8, 8, key=key)
        self.side = side

    def __call__(self, x):
        return x + np.copysign(1.0, self.side) * self.linear(x)
"""
)


@pytest.mark.parametrize(("first", "then"), [("0.0", "-side"), ("0.0", "-0.0"), ("1", "1.0"), ("True", "1")])
def test_layers_that_differ_in_one_are_no_one_stack(first: str, then: str) -> None:
    found = only(MODEL.format(first=first, then=then))
    plan = found.undecided if isinstance(found, Refusal) else found
    assert plan is not None and plan.holds is Holds.BLOCK_SEQ
