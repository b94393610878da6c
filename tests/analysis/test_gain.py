"""Layers that nothing shows to share a body: in turns with others, each of its own sizes or settings."""

import pytest
from helpers import PRELUDE, decide, only

from scanify.analysis.plan import Kind, Plan, Refusal

APPLY = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"


def net(init: str, parameters: str = "d, n, sizes, key", classes: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    head = PRELUDE[: PRELUDE.index("class Model")]
    return f"{head}{classes}class Net(eqx.Module):\n    layers: list\n\n    def __init__(self, {parameters}):\n{lines}\n{APPLY}"


SETTINGS = """\
class Settings:
    width: int
    kernel: int


class Conv(eqx.Module):
    conv: eqx.nn.Conv1d

    def __init__(self, width, kernel, key):
        self.conv = eqx.nn.Conv1d(width, width, kernel, key=key)

    def __call__(self, x):
        return self.conv(x)


"""


@pytest.mark.parametrize(
    ("init", "rule"),
    [
        pytest.param(
            "self.layers = []\nfor a, b in zip(sizes[:-1], sizes[1:]):\n"
            "    self.layers.append(eqx.nn.Linear(a, b, key=key))\n    self.layers.append(eqx.nn.Lambda(jax.nn.relu))",
            "SCN203",
            id="linear and activation in turns",
        ),
        pytest.param(
            "sizes = [4, 8, 16, 12, 6, 5][: n + 1]\n"
            "self.layers = [eqx.nn.Linear(a, b, key=key) for a, b in zip(sizes[:-1], sizes[1:])]",
            "SCN203",
            id="sizes that are written out and all differ",
        ),
        pytest.param(
            "self.layers = [Conv(each.width, each.kernel, key) for each in sizes]",
            "SCN203",
            id="settings of each layer",
        ),
        pytest.param(
            "self.layers = [Conv(width, kernel, key) for width, kernel in sizes]",
            "SCN203",
            id="a tuple of settings for each layer",
        ),
    ],
)
def test_nothing_to_scan_over(init, rule):
    found = only(net(init, classes=SETTINGS))
    assert isinstance(found, Refusal), found
    assert found.rule == rule


@pytest.mark.parametrize(
    ("init", "kind"),
    [
        pytest.param(
            "self.layers = []\nfor k in jr.split(key, n):\n"
            "    self.layers.append(Block(d, key=k))\n    self.layers.append(eqx.nn.Lambda(jax.nn.relu))",
            Kind.GROUP,
            id="turns of equal layers repeat",
        ),
    ],
)
def test_some_may_share_a_body(init, kind):
    found = only(net(init, classes=SETTINGS))
    assert isinstance(found, Plan), found
    assert found.kind is kind


STAGE = """\
class Stage(eqx.Module):
    blocks: list
    down: Block

    def __init__(self, d, depth, key):
        self.down = Block(d, key=key)
        BLOCKS

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.down(x)


"""
BLOCKS = [
    "self.blocks = [Block(d, key=k) for k in jr.split(key, depth)]",
    "self.blocks = tuple(Block(d, key=key) for _ in range(depth))",
    "blocks = []\n        for i in range(depth):\n            blocks.append(Block(d, key=key))\n        self.blocks = blocks",
    "self.blocks = []\n        for i, k in enumerate(jr.split(key, depth)):\n            self.blocks.append(Block(d, key=k))",
    "kind = lambda d, key: Block(d, key=key)\n        self.blocks = [kind(d, k) for k in jr.split(key, depth)]",
]


def stages(init: str, blocks: str, parameters: str = "d, n, depths, key") -> list[Plan | Refusal]:
    return [
        each
        for each in decide(net(init, parameters, STAGE.replace("BLOCKS", blocks)))
        if each.container == "self.layers"
    ]


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Stage(d, depth, key) for depth in depths]",
        "self.layers = [Stage(d, depths[i], key) for i in range(n)]",
        "self.layers = []\nfor i in range(n):\n    self.layers.append(Stage(d, i + 1, key))",
        "self.layers = tuple(Stage(d, depth, k) for depth, k in zip(depths, jr.split(key, n)))",
    ],
)
def test_stages_of_their_own_depth_share_no_body(init, blocks):
    (found,) = stages(init, blocks, "d, n, depths: list[int], key")
    assert isinstance(found, Refusal)
    assert (found.rule, found.reason.startswith("nothing ")) == ("SCN203", True), found.reason


@pytest.mark.parametrize("blocks", BLOCKS[:4])
@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Stage(d, 4, k) for k in jr.split(key, n)]",
        "self.layers = [Stage(d, depths[0], key) for _ in range(n)]",
    ],
)
def test_stages_of_one_depth_may(init, blocks):
    (found,) = stages(init, blocks)
    assert isinstance(found, Plan), found


def test_a_list_of_one_layer_saves_nothing_however_often_it_is_reached():
    loop = "    def features(self, x, scale=1):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n\n"
    calls = "    def __call__(self, x):\n        return self.features(x, [x])\n\n    def twice(self, x):\n        return self.features(x * 2, None)\n"
    init = "    def __init__(self, d, key):\n        self.layers = (Block(d, key=key),)\n        self.width = d\n\n"
    made = "\n\ndef small(key):\n    return Net(4, key)\n\n\ndef run(model: Net, x):\n    return model.features(x)\n"
    head = PRELUDE[: PRELUDE.index("class Model")]
    found = only(f"{head}class Net(eqx.Module):\n    layers: tuple\n    width: int\n\n{init}{loop}{calls}{made}")
    assert isinstance(found, Refusal)
    assert (found.rule, "the list has 1 layer" in found.reason) == ("SCN203", True), found.reason


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("for i, k in enumerate(jr.split(key, n))", "Block(d * (i + 1), key=k)"),
        ("for k, (i, _) in zip(jr.split(key, n), sizes)", "Block(i, key=k)"),
        ("for (i, j), k in zip(enumerate(range(n)), jr.split(key, n))", "Block(2 ** i, key=k)"),
    ],
)
def test_a_reason_names_what_differs_and_not_all_that_is_bound_with_it(head, made):
    found = only(net(f"self.layers = [{made} {head}]"))
    assert isinstance(found, Refusal) and found.rule == "SCN203" and "is built from its own `" in found.reason


@pytest.mark.parametrize(
    ("layers", "listed"),
    [
        ("[Block(d, key=key), Other(), Block(d, key=key), Other()]", False),
        ("[Block(d, key=key), Block(n, key=key), Block(8, key=key), Block(9, key=key)]", False),
        ("[Block(d, key=key), Block(n, key=key), Block(n, key=key), Block(n, key=key)]", True),
        ("[Block(d, key=key), jnp.tanh, Block(d, key=key), jnp.tanh, Block(d, key=key)]", True),
    ],
)
def test_of_layers_that_are_written_out_three_are_alike(layers, listed):
    found = only(net(f"self.layers = {layers}"))
    assert isinstance(found, Plan) == listed, found
    assert listed or found.rule in ("SCN202", "SCN203")


@pytest.mark.parametrize("number", ["d * (i % 4)", "2 ** (i % 3)"])
def test_sizes_that_come_back_may_be_shared(number):
    found = only(
        net(f"self.layers = [Conv(8, {number}, key=k) for i, k in enumerate(jr.split(key, n))]", classes=SETTINGS)
    )
    assert isinstance(found, Plan) and found.kind is Kind.GROUP, found
    grows = only(
        net("self.layers = [Conv(8, 2 ** i, key=k) for i, k in enumerate(jr.split(key, n))]", classes=SETTINGS)
    )
    assert isinstance(grows, Refusal) and grows.rule == "SCN203"


ROWS = """\
class Acts(eqx.Module):
    linear: eqx.nn.Linear
    act: Callable

    def __init__(self, d, key):
        self.linear = eqx.nn.Linear(d, d, key=key)
        self.act = lambda x: jnp.tanh(x)

    def __call__(self, x):
        return self.act(self.linear(x))


class Net(eqx.Module):
    rows: list

    def __init__(self, d, n, key):
        self.rows = []
        for i in range(n):
            row = []
            for k in jr.split(key, 2):
                row.append(Acts(WIDTH, k))
            self.rows.append(row)

    def __call__(self, x):
        for row in self.rows:
            h = x
            for layer in row:
                h = layer(h)
            x = x + h
        return x
"""


@pytest.mark.parametrize("width", ["d", "d + 0 * i"])
def test_rows_of_layers_are_left_to_evidence(width):
    head = PRELUDE[: PRELUDE.index("class Model")].replace("import functools", "from collections.abc import Callable")
    outer = decide(head + ROWS.replace("WIDTH", width))[0]
    assert isinstance(outer, Refusal) and outer.undecided is not None


STEPS = """\
class Attention(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, d, key):
        self.linear = eqx.nn.Linear(d, d, key=key)

    def __call__(self, x):
        return jax.nn.softmax(self.linear(x))


class Unit(eqx.Module):
    def __call__(self, x):
        return x / jnp.linalg.norm(x)


"""


def steps(head: str, test: str, other: str) -> str:
    init = f"""\
layers = []
for {head}:
    if {test}:
        layers.append(Attention(d, key))
    else:
        layers.append({other})
self.layers = layers"""
    return net(init, parameters="d, n, steps, key", classes=STEPS)


@pytest.mark.parametrize(
    ("head", "test", "other"),
    [
        pytest.param("step in steps", "step == 'attention'", "Block(d, key)", id="layers of two classes"),
        pytest.param("i in range(n)", "i % 2", "Unit()", id="by the number of the layer"),
        pytest.param("i, step in enumerate(steps)", "i % 2", "Unit()", id="by the number beside the step"),
        pytest.param("step in steps", "n > 3", "Unit()", id="the same for all"),
    ],
)
def test_layers_that_may_follow_one_another_are_grouped(head, test, other):
    found = only(steps(head, test, other))
    assert isinstance(found, Plan)
    assert found.kind is Kind.GROUP


WIDE = "class Wide(eqx.Module):\n    size: int = eqx.field(static=True)\n\n    def __call__(self, x):\n        return x\n\n\n"


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Wide(size) for size in sizes]",
        "self.layers = [Wide(2**i) for i in range(n)]",
        "self.layers = [Wide(a * b) for a in sizes for b in sizes]",
        "self.layers = [eqx.nn.Linear(sizes[i], sizes[i + 1], key=key) for i in range(n)]",
        "self.layers = [eqx.nn.Linear(a, b, key=key) for a, b in zip(sizes[:-1], sizes[1:])]",
        "self.layers = [Block(a, key=key) for a in [8] + [d] * n]",
        (
            "near, far = d, n\nself.layers = []\nfor k in jr.split(key, n):\n"
            "    self.layers.append(eqx.nn.Linear(near, far, key=k))\n    near, far = far, near"
        ),
    ],
)
def test_sizes_and_static_settings_of_each_layer_are_left_to_evidence(init):
    found = only(net(init, classes=WIDE))
    assert isinstance(found, Refusal), found
    assert found.undecided is not None
    assert "is built from its own `" in found.reason


@pytest.mark.parametrize(
    "body",
    [
        "if i > 2:\n        d = 16\n    else:\n        d = 8",
        "match i:\n        case 0:\n            d = 4\n        case _:\n            d = 8",
        "try:\n        d = 8 // i\n    except ZeroDivisionError:\n        d = 4",
        "grow()",
    ],
)
def test_a_size_that_a_statement_chooses_differs(body):
    grow = "def grow():\n    nonlocal d\n    d *= 2\n"
    found = only(
        net(f"{grow}self.layers = []\nfor i in range(n):\n    {body}\n    self.layers.append(Block(d, key=key))")
    )
    assert not isinstance(found, Plan) or found.holds.value == "BlockSeq", found
