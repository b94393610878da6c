"""Lists of which an annotation alone says what they hold: each element may be another number, size or row."""

import pytest
from helpers import PRELUDE, decide, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal

HEAD = PRELUDE[: PRELUDE.index("class Model")]
APPLY = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
RATED = """\
class Rated(eqx.Module):
    linear: eqx.nn.Linear
    rate: float

    def __init__(self, before, after, rate, key):
        self.linear = eqx.nn.Linear(before, after, key=key)
        self.rate = rate

    def __call__(self, x):
        return self.linear(x) * self.rate


"""


def decided(parameters: str, layers: str, caller: str = "") -> Plan | Refusal:
    init = f"    def __init__(self, {parameters}, n, key):\n        self.layers = {layers}\n\n"
    return only(f"{HEAD}{RATED}class Net(eqx.Module):\n    layers: list\n\n{init}{APPLY}\n\n{caller}")


@pytest.mark.parametrize(
    "layers",
    [
        "[Rated(8, 8, rate, key) for rate in rates]",
        "[Rated(8, 8, rates[i], key) for i in range(n)]",
        "[Rated(8, 8, rate, key) for _, rate in zip(range(n), rates)]",
    ],
)
def test_rates_of_a_caller_may_differ_and_are_only_computed_with(layers):
    found = decided("rates: list[float]", layers)
    assert isinstance(found, Plan)
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.FOLD)


@pytest.mark.parametrize(
    ("annotation", "layers"),
    [
        ("list[tuple[int, float]]", "[Rated(size, size, rate, key) for size, rate in rows]"),
        ("list[dict]", "[Rated(row['size'], 8, 1.0, key) for row in rows]"),
        ("list[dict[str, int]]", "[Rated(row['size'], 8, 1.0, key) for row in rows]"),
    ],
)
def test_rows_of_a_table_of_a_caller_are_no_layers_that_are_alike(annotation, layers):
    found = decided(f"rows: {annotation}", layers)
    assert isinstance(found, Refusal)
    assert found.rule == "SCN203"


@pytest.mark.parametrize(
    ("layers", "plan"),
    [("[Rated(8, 8, w, key) for w in ws]", True), ("[Rated(w.shape[0], 8, 1.0, key) for w in ws]", False)],
)
def test_arrays_of_a_caller_may_differ_in_shape(layers, plan):
    found = decided("ws: list[jax.Array]", layers)
    assert isinstance(found, Plan) is plan
    assert not plan or found.holds is Holds.BLOCK_SEQ


@pytest.mark.parametrize(
    ("parameters", "layers"),
    [
        ("rates: list[float]", "[Rated(8, 8, rate, key) for rate in rates]"),
        ("rates: list[float]", "[Rated(8, 8, rates[i], key) for i in range(n)]"),
    ],
)
def test_sizes_that_the_code_repeats_and_rates_are_no_obligation(parameters, layers):
    found = decided(parameters, layers)
    assert isinstance(found, Plan) and found.safe, found


def test_rates_that_differ_by_default_are_rates_still():
    found = decided("*, rates: tuple[float, ...] = (0.1, 0.2, 0.3)", "[Rated(8, 8, rate, key) for rate in rates]")
    assert isinstance(found, Plan)
    assert found.kind is Kind.FOLD


HEIRS = """\
class Step(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return self.linear(x)


class Scaled(Step):
    pass


class Shifted(Step):
    pass


class Holder(eqx.Module):
    steps: list[Step]


"""
TAKERS = [
    "def apply(steps: Sequence[DECLARED], x):\n    for step in steps:\n        x = step(x)\n    return x\n",
    "def apply(holders: list[Holder], x):\n    for step in holders[0].steps:\n        x = step(x)\n    return x\n",
    "def apply(steps: dict[str, DECLARED], x):\n    for step in steps.values():\n        x = step(x)\n    return x\n",
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("declared", ["Step", "eqx.Module"])
def test_layers_of_a_caller_who_may_mix_classes_are_no_stack(taker, declared):
    text = HEAD + HEIRS.replace("list[Step]", f"list[{declared}]") + taker.replace("DECLARED", declared)
    found = decide(text)
    assert [type(each) for each in found] == [Refusal] and found[0].rule in ("SCN201", "SCN215"), found


@pytest.mark.parametrize("taker", [TAKERS[0], TAKERS[2]])
def test_layers_of_a_caller_of_one_class_may_be(taker):
    (found,) = decide(HEAD + HEIRS.replace("Step]", "Scaled]") + taker.replace("DECLARED", "Scaled"))
    assert isinstance(found, Plan), found
