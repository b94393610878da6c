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


ALIKE = "Net([8, 8, 8, 8], 3, jr.key(0))\n"


def decided(parameters: str, layers: str, caller: str = "") -> Plan | Refusal:
    init = f"    def __init__(self, {parameters}, n, key):\n        self.layers = {layers}\n\n"
    return only(f"{HEAD}{RATED}class Net(eqx.Module):\n    layers: list\n\n{init}{APPLY}\n\n{caller}")


@pytest.mark.parametrize("sizes", ["sizes", "list(sizes)", "[*sizes]", "sizes[1:]", "reversed(sizes)", "sorted(sizes)"])
@pytest.mark.parametrize("annotation", ["list[int]", "tuple[int, ...]", "Sequence[int]"])
def test_sizes_of_a_caller_may_differ(sizes, annotation):
    layers = f"[Rated(each, each, 1.0, key) for each in {sizes}]"
    found = decided(f"sizes: {annotation}", layers, ALIKE)
    assert isinstance(found, Plan)
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.GROUP)
    assert isinstance(decided(f"sizes: {annotation}", layers), Plan)  # a library, whose callers list what they like
    nobody = decided(f"sizes: {annotation}", layers, "Net([8, 8, 16, 16], 3, jr.key(0))\n")
    assert isinstance(nobody, Refusal) and "for each the caller lists its own `each`" in nobody.reason


@pytest.mark.parametrize(
    "caller",
    [
        pytest.param(ALIKE, id="a call"),
        pytest.param("Net(sizes=(16, 8, 8, 8), n=3, key=jr.key(0))\n", id="a keyword"),
        pytest.param("widths = [8] * 4\nNet(widths, 3, jr.key(0))\n", id="a variable"),
        pytest.param(
            "class Config:\n    widths: tuple = (8, 8, 8)\n\n\nNet(Config.widths, 3, jr.key(0))\n", id="a field"
        ),
        pytest.param("PRESETS = {'small': {'sizes': [8, 8, 8]}}\n", id="an entry of a dict"),
        pytest.param("def make(hidden=(8, 8, 8)):\n    return Net(hidden, 3, jr.key(0))\n", id="a default"),
        pytest.param(
            "def make(dims):\n    return Net(dims, 3, jr.key(0))\n\n\nmake([8, 8, 8])\n", id="through a function"
        ),
        pytest.param("PRESETS = {'a': [4, 4], 'b': [8, 8, 8]}\nNet(PRESETS[name], 3, jr.key(0))\n", id="a table"),
        pytest.param(
            "class C:\n    sizes: list = field(default_factory=lambda: [8, 8, 8])\n", id="the default of a field"
        ),
        pytest.param("parser.add_argument('--sizes', type=int, nargs='*', default=[8, 8, 8])\n", id="the command line"),
    ],
)
def test_equal_sizes_in_a_row_may_stand_anywhere_in_the_project(caller):
    assert isinstance(decided("sizes", "[Rated(a, a, 1.0, key) for a in sizes]", caller), Plan)
    fewer = caller.replace("8, 8, 8", "8, 16, 8").replace("[8] * 4", "[8, 16]").replace("8, 8]", "16, 8]")
    assert isinstance(decided("sizes", "[Rated(a, a, 1.0, key) for a in sizes]", fewer), Refusal)


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


USUAL = "[Rated(a, b, 1.0, key) for a, b in zip(sizes[:-1], sizes[1:])]"


@pytest.mark.parametrize("annotation", ["", ": list[int]", ": Sequence[int]"])
@pytest.mark.parametrize(
    "layers",
    [
        USUAL,
        "[Rated(sizes[i], sizes[i + 1], 1.0, key) for i in range(len(sizes) - 1)]",
        "[Rated(a, b, 1.0, key) for a, b in zip([n] + list(sizes[:-1]), sizes)]",
        "[Rated(a, a, 1.0, key) for a in sizes]",
    ],
)
def test_sizes_that_all_differ_by_default_share_no_body(annotation, layers):
    found = decided(f"*, sizes{annotation} = (32, 64, 128)", layers)
    assert isinstance(found, Refusal)
    assert (found.rule, "may differ in the shape" in found.reason) == ("SCN203", True), found.reason


@pytest.mark.parametrize("annotation", ["", ": list[int]", ": tuple[int, ...] = (64, 64, 64, 64)"])
@pytest.mark.parametrize(
    "layers",
    [
        USUAL,
        "[Rated(sizes[i], sizes[i + 1], 1.0, key) for i in range(len(sizes) - 1)]",
        "[Rated(a, a, 1.0, key) for a in sizes]",
        "[Rated(a, b, 1.0, key) for a, b in zip([8, *sizes], [*sizes, 8])]",
        "[Rated(a, a, 1.0, key) for a in [8] + list(sizes)]",
    ],
)
def test_that_sizes_of_a_caller_repeat_is_an_obligation(annotation, layers):
    found = decided(f"*, sizes{annotation}", layers, ALIKE)
    assert isinstance(found, Plan) and not found.safe, found
    assert any("three layers in a row" in each for each in found.obligations), found.obligations


@pytest.mark.parametrize(
    ("parameters", "layers"),
    [
        ("size", "[Rated(a, a, 1.0, key) for a in [size] * n]"),
        ("size", "[Rated(a, 8, 1.0, key) for a in [8] + [size] * n]"),
        ("size", "[Rated(a, 8, 1.0, key) for a in [8, *[size for _ in range(n)]]]"),
        ("rates: list[float]", "[Rated(8, 8, rate, key) for rate in rates]"),
        ("rates: list[float]", "[Rated(8, 8, rates[i], key) for i in range(n)]"),
    ],
)
def test_sizes_that_the_code_repeats_and_rates_are_no_obligation(parameters, layers):
    found = decided(parameters, layers)
    assert isinstance(found, Plan) and found.safe, found


@pytest.mark.parametrize("default", ["(64, 64, 64, 64)", "(32, 64, 64, 64)", "(64,) * 4"])
def test_sizes_of_which_some_are_equal_by_default_may(default):
    text = f"*, sizes: tuple[int, ...] = {default}"
    found = decided(text, "[Rated(a, a, 1.0, key) for a in sizes]")
    assert isinstance(found, Plan)
    assert (found.holds, found.kind) == (Holds.BLOCK_SEQ, Kind.GROUP)


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
    assert [(type(each), each.rule) for each in found] == [(Refusal, "SCN215")], found


@pytest.mark.parametrize("taker", TAKERS)
def test_layers_of_a_caller_of_one_class_may_be(taker):
    (found,) = decide(HEAD + HEIRS.replace("Step]", "Scaled]") + taker.replace("DECLARED", "Scaled"))
    assert isinstance(found, Plan), found


def test_layers_that_callers_show_to_be_alike_may_be():
    calls = "def run(n, x, key):\n    return apply([Scaled(eqx.nn.Linear(8, 8, key=k)) for k in jr.split(key, n)], x)\n"
    (found,) = decide(HEAD + HEIRS + TAKERS[0].replace("DECLARED", "Step") + calls)
    assert isinstance(found, Plan), found


PAIRS = """\
sizes = tuple((n, n) if isinstance(n, int) else n for n in sizes)
ins, outs = ((8, 8),) + sizes, sizes + ((8, None),)
self.layers = [Rated(a, b, 1.0, key) for (a, _), (b, _) in zip(ins, outs)]"""


@pytest.mark.parametrize(
    ("annotation", "gains"),
    [("list[int | tuple[int, int]]", True), ("list[tuple[int, int]]", False), ("list[str | tuple[int, int]]", False)],
)
def test_sizes_that_a_caller_may_give_as_pairs(annotation, gains):
    init = "".join(f"        {line}\n" for line in PAIRS.splitlines())
    text = f"{HEAD}class Net(eqx.Module):\n    layers: list[Rated]\n\n    def __init__(self, key, sizes: {annotation}):\n{init}\n"
    call = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    found = only(text + call)
    assert isinstance(found, Plan) == gains, found


@pytest.mark.parametrize(
    ("test", "gains"),
    [
        ("isinstance(n, int)", True),
        ("isinstance(n, (int, float))", True),
        ("isinstance(n, tuple)", False),
        ("n", False),
    ],
)
def test_what_a_condition_on_a_class_leaves_of_a_size(test, gains):
    init = "        sizes = [n if TEST else n[0] for n in sizes]\n        self.layers = [Rated(a, a, 1.0, key) for a in sizes]\n"
    text = f"{HEAD}class Net(eqx.Module):\n    layers: list[Rated]\n\n    def __init__(self, key, sizes: list[int | dict]):\n{init}\n"
    call = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    found = only((text + call).replace("TEST", test))
    assert isinstance(found, Plan) == gains, found
