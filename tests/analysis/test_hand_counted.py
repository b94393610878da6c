"""Loops that count their turns by hand: the number is one that Python has, not a value that layers hand on."""

import pytest

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from tests.analysis.helpers import decide, model, only

LOOP = "for layer in self.layers:\n    x = layer(x, keys[i])\n    i += 1"
ASKING = "for layer in self.layers:\n    x = layer(x, mask if i else None)\n    i += 1"


def counted(loop: str = LOOP, before: str = "i = 0", **given: str) -> Plan:
    found = only(model(loop, before=before, **given))
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("loop", "before", "xs"),
    [
        (ASKING, "i = 0", [("i", "range(len(self.layers))")]),
        (ASKING.replace("i += 1", "i = i + 1"), "i = 0\nx = x * 2", [("i", "range(len(self.layers))")]),
        (ASKING, "i = 3", [("i", "range(3, 3 + len(self.layers))")]),
        (
            "for layer, k in zip(self.layers, keys):\n    if i:\n        x = layer(x, k)\n    i += 1",
            "i = 0",
            [("i", "range(len(self.layers))"), ("k", "keys")],
        ),
        (
            "for layer in self.layers[1:]:\n    x = layer(x, mask if i else None)\n    i += 1",
            "i = 0",
            [("i", "range(len(self.layers[1:]))")],
        ),
    ],
)
def test_a_counter_is_walked_beside_the_layers(loop, before, xs):
    plan = counted(loop, before)
    assert (plan.carry, plan.holds, plan.safe) == (("x",), Holds.BLOCK_SEQ, True)
    assert [(one.target, one.source) for one in plan.xs] == xs


@pytest.mark.parametrize(
    ("before", "numbers"),
    [
        ("i = 0", "range(len(self.layers))"),
        ("i = 3", "range(3, 3 + len(self.layers))"),
        ("enumerate = zip\ni = 0", "range(len(self.layers))"),
    ],
)
def test_what_is_taken_by_a_counter_is_walked_as_what_enumerate_counts(before, numbers):
    plan = counted(LOOP, before)
    assert (plan.carry, plan.holds, plan.safe) == (("x",), Holds.ARRAY_STACKED, True)
    assert [(one.target, one.source) for one in plan.xs] == [("key", f"[keys[i] for i in {numbers}]")]
    first = f", {before[-1]}" if before.endswith("3") else ""
    head = f"for i, layer in enumerate(self.layers{first}):\n    x = layer(x, keys[i])"
    assert [(one.target, one.source) for one in counted(head, "").xs] == [(one.target, one.source) for one in plan.xs]


def test_two_loops_may_count_with_one_name():
    found = decide(model(ASKING, before=f"i = 0\n{ASKING}\ni = 1"))
    assert [[xs.source for xs in one.xs] for one in found] == [
        ["range(len(self.layers))"],
        ["range(1, 1 + len(self.layers))"],
    ]


def test_the_layers_of_every_stage_are_counted_anew():
    loop = (
        "for turn in range(2):\n    i = 0\n    for layer in self.layers:\n        x = layer(x, keys[i])\n        i += 1"
    )
    assert counted(loop, before="").xs[0].source == "[keys[i] for i in range(len(self.layers))]"


@pytest.mark.parametrize(
    ("loop", "given"),
    [
        pytest.param(LOOP, {"after": "return x * i"}, id="read below"),
        pytest.param(LOOP, {"before": "i = mask"}, id="begins with something else"),
        pytest.param(LOOP, {"before": "i = 0\nif mask:\n    i = 2"}, id="may begin with another number"),
        pytest.param(LOOP.replace("i += 1", "i += 2"), {}, id="counts by two"),
        pytest.param(LOOP.replace("    i += 1", "    if mask:\n        i += 1"), {}, id="counts some turns"),
        pytest.param("for layer in self.layers:\n    i += 1\n    x = layer(x, keys[i])", {}, id="counts first"),
        pytest.param(LOOP.replace("    i += 1", "    i = i * 2\n    i += 1"), {}, id="set twice"),
        pytest.param(LOOP.replace("    x =", "    if mask:\n        continue\n    x ="), {}, id="a turn that is left"),
        pytest.param(
            f"def seen():\n    return i\n{LOOP}".replace("keys[i]", "keys[seen()]"), {}, id="read by a function"
        ),
        pytest.param(
            "for turn in range(2):\n    for layer in self.layers:\n        x = layer(x, keys[i])\n        i += 1",
            {},
            id="goes on in the next turn of a loop around",
        ),
    ],
)
def test_numbers_that_are_no_counters_are_carried_or_refused(loop, given):
    found = only(model(loop, **{"before": "i = 0", **given}))
    assert not any(xs.target == "i" for xs in found.xs)
    assert "i" in found.carry


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
