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


def decided(parameters: str, layers: str) -> Plan | Refusal:
    init = f"    def __init__(self, {parameters}, n, key):\n        self.layers = {layers}\n\n"
    return only(f"{HEAD}{RATED}class Net(eqx.Module):\n    layers: list\n\n{init}{APPLY}")


@pytest.mark.parametrize("sizes", ["sizes", "list(sizes)", "[*sizes]", "sizes[1:]", "reversed(sizes)", "sorted(sizes)"])
@pytest.mark.parametrize("annotation", ["list[int]", "tuple[int, ...]", "Sequence[int]"])
def test_sizes_of_a_caller_may_differ(sizes, annotation):
    found = decided(f"sizes: {annotation}", f"[Rated(each, each, 1.0, key) for each in {sizes}]")
    assert isinstance(found, Plan)
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.GROUP)


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
        ("list[list[int]]", "[Rated(8, 8, row[0], key) for row in rows]"),
        ("list[dict]", "[Rated(row['size'], 8, 1.0, key) for row in rows]"),
        ("list[dict[str, int]]", "[Rated(row['size'], 8, 1.0, key) for row in rows]"),
    ],
)
def test_rows_of_a_table_of_a_caller_are_no_layers_that_are_alike(annotation, layers):
    found = decided(f"rows: {annotation}", layers)
    assert isinstance(found, Refusal)
    assert found.rule == "SCN203"


@pytest.mark.parametrize(
    "layers", ["[Rated(8, 8, w, key) for w in ws]", "[Rated(w.shape[0], 8, 1.0, key) for w in ws]"]
)
def test_arrays_of_a_caller_may_differ_in_shape(layers):
    found = decided("ws: list[jax.Array]", layers)
    assert isinstance(found, Plan)
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.GROUP)


@pytest.mark.parametrize("sizes", ["[size] * n", "list([size] * n)", "([size] * n)[1:]", "[size for _ in range(n)]"])
def test_one_size_many_times_is_the_same(sizes):
    found = decided("size: int", f"[Rated(each, each, 1.0, key) for each in {sizes}]")
    assert isinstance(found, Plan)
    assert found.holds is Holds.ARRAY_STACKED


def test_rows_that_hold_modules_are_still_layers():
    call = "    def __call__(self, x):\n        for block, rate in self.pairs:\n            x = block(x) * rate\n        return x\n"
    text = f"{HEAD}class Net(eqx.Module):\n    pairs: list[tuple[Block, float]]\n\n{call}"
    assert all(isinstance(each, Plan) for each in decide(text))
