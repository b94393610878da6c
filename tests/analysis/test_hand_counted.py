"""Loops that count their turns by hand: the number is a value that layers hand on, as any other."""

import pytest

from scanify.analysis.plan import Kind, Plan, Refusal
from tests.analysis.helpers import model, only
from tests.texts import texts

LOOP = "for layer in self.layers:\n    x = layer(x) * i\n    i += 1"


def test_a_counter_is_a_carry_that_starts_as_a_number() -> None:
    found = only(model(LOOP, before="i = 0"))
    assert isinstance(found, Plan) and set(found.carry) == {"x", "i"}
    assert "`i` keeps its dtype, though it starts as a Python number" in texts(found.obligations)


@pytest.mark.parametrize(
    ("before", "loop"),
    [
        ("i = 0", "if i % 2:\n        x = layer(x)\n    i += 2"),
        ("seen = len(keys)", "ks = [k for k in keys if seen < 3]\n    x = layer(x, ks)\n    seen += len(ks)"),
        ("first = True", "x = layer(x) if first else x + layer(x)\n    first = False"),
        ("n = 1", "x = layer(x)\n    for _ in range(n):\n        x = x + 1\n    n = n * 2"),
    ],
)
def test_a_carried_number_whose_value_is_asked_for_is_refused(before, loop):
    found = only(model(f"for layer in self.layers:\n    {loop}", before=before))
    assert isinstance(found, Refusal) and found.rule == "SCN208" and "in a scan it is a tracer" in found.reason


@pytest.mark.parametrize("test", ["loss is None", "x.ndim > 2", "x.shape[0] > 2", "mask > 1"])
def test_a_carried_number_that_is_only_computed_with_is_carried(test):
    loop = f"for layer in self.layers:\n    x = layer(x) if {test} else layer(x, mask)\n    loss = loss + x.sum()"
    found = only(model(loop, before="loss = 0.0", after="return x, loss"))
    assert isinstance(found, Plan) and set(found.carry) == {"x", "loss"} and found.kind is Kind.FOLD
