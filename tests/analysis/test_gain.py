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
            "SCN202",
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
        pytest.param(
            "keys = jr.split(key, len(sizes) - 1)\n"
            "self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys)]\n"
            "log(sizes=(d, d, d, d))",
            Kind.GROUP,
            id="sizes that the caller lists",
        ),
        pytest.param(
            "near, far = d, 2 * d\nself.layers = []\nfor k in jr.split(key, n):\n"
            "    self.layers.append(eqx.nn.Linear(near, far, key=k))\n    near, far = far, near",
            Kind.GROUP,
            id="two sizes that change places",
        ),
    ],
)
def test_some_may_share_a_body(init, kind):
    found = only(net(init, classes=SETTINGS))
    assert isinstance(found, Plan), found
    assert found.kind is kind


def test_a_list_that_some_caller_builds_with_one_layer_says_nothing_of_longer_ones():
    text = net(
        "dims = (d, *((n - 1) * (n,)), d)\nself.layers = [eqx.nn.Linear(dims[i], dims[i + 1], key=key)"
        " for i in range(len(dims) - 2)]",
        "d, n, key",
    )
    callers = "\n\ndef small(key):\n    return Net(4, 2, key).layers\n\n\ndef any_size(n, key):\n    return Net(4, n, key).layers\n"
    assert all(isinstance(found, Plan) for found in decide(text + callers))


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
    assert isinstance(found, Refusal) and (found.rule, "`i`" in found.reason) == ("SCN203", True), found.reason


@pytest.mark.parametrize(
    ("layers", "listed"),
    [
        ("[Block(d, key=key), jnp.tanh, Block(n, key=key), jnp.tanh, Block(8, key=key)]", False),
        ("[Block(d, key=key), Other(), Block(d, key=key), Other()]", False),
        ("[Block(d, key=key), Block(n, key=key), Block(8, key=key), Block(9, key=key)]", False),
        ("[Block(d, key=key), Block(n, key=key), Block(n, key=key), Block(n, key=key)]", True),
        ("[Block(d, key=key), jnp.tanh, Block(d, key=key), jnp.tanh, Block(d, key=key)]", True),
        ("[Block(d, 0.1, key=key), Block(d, 0.2, key=key), Block(d, 0.3, key=key)]", True),
    ],
)
def test_of_layers_that_are_written_out_three_are_alike(layers, listed):
    found = only(net(f"self.layers = {layers}"))
    assert isinstance(found, Plan) == listed, found
    assert listed or found.rule in ("SCN202", "SCN203")


@pytest.mark.parametrize("number", ["i % n", "2 ** (i % n)", "d * (i % 4)", "2 ** (i % 3)"])
def test_sizes_that_come_back_may_be_shared(number):
    found = only(
        net(f"self.layers = [Conv(8, {number}, key=k) for i, k in enumerate(jr.split(key, n))]", classes=SETTINGS)
    )
    assert isinstance(found, Plan) and found.kind is Kind.GROUP, found
    grows = only(
        net("self.layers = [Conv(8, 2 ** i, key=k) for i, k in enumerate(jr.split(key, n))]", classes=SETTINGS)
    )
    assert isinstance(grows, Refusal) and grows.rule == "SCN203"


@pytest.mark.parametrize(("usual", "gains"), [("(1, 2, 4, 8)", False), ("(1, 1, 1, 2)", True)])
@pytest.mark.parametrize(
    "made", ["[Conv(d, kernel, key) for kernel in sizes]", "[Conv(d, sizes[i], key) for i in range(n)]"]
)
def test_settings_that_a_caller_lists_differ_as_those_of_the_default_do(made, usual, gains):
    dilated = SETTINGS.replace("width, kernel, key):", "width, kernel, key):\n        self.pads = (kernel, kernel)")
    dilated = dilated.replace("width, width, kernel, key", "width, width, 1, key").replace(
        "    conv: eqx", "    pads: tuple = eqx.field(static=True)\n    conv: eqx"
    )
    found = only(net(f"self.layers = {made}", f"d, n, key, sizes={usual}", dilated))
    assert isinstance(found, Plan) == gains, found


WIDTHS = """\
if d > 4:
    sizes, count = [4, 8, 16, 32, 64], 5
else:
    sizes = [d] * (count - 1) + [n]
self.layers = [eqx.nn.Linear(sizes[i], sizes[i + 1], key=key) for i in range(n)]"""


def test_a_name_that_the_iteration_before_may_have_bound():
    again = WIDTHS.replace("sizes, count = [4, 8, 16, 32, 64], 5", "sizes = [4, 8, 16, 32, 64]\n    count = 5")
    again = again.replace("\n", "\n    ").replace("    self", "self").replace("if", "for _ in range(n):\n    if", 1)
    assert isinstance(only(net(again)), Plan)


@pytest.mark.parametrize("pairs", ["zip(sizes[:-1], sizes[1:])", "itertools.pairwise(sizes)"])
@pytest.mark.parametrize(("sizes", "gains"), [("[d] + [8] * n + [1]", True), ("[4, 8, 16, 32, 64]", False)])
def test_neighbours_of_a_list_of_sizes(pairs, sizes, gains):
    init = f"sizes = {sizes}\nself.layers = [eqx.nn.Linear(a, b, key=key) for a, b in {pairs}]"
    found = only("import itertools\n" + net(init))
    assert isinstance(found, Plan) == gains, found


LEVELS = """\
class Net(eqx.Module):
    downs: list
    stages: list

    def __init__(self, d, n, key, sizes):
        self.downs, self.stages = [], []
        for a, b in zip(sizes[:-1], sizes[1:]):
            self.downs.append(eqx.nn.Linear(d, d, key=key))
            stage = [eqx.nn.Linear(FIRST, key=key)]
            for k in jr.split(key, n):
                stage.append(eqx.nn.Linear(REST, key=k))
            self.stages.append(stage)

    def __call__(self, x):
        for down, stage in zip(self.downs, self.stages):
            x = down(x)
            for layer in stage:
                x = layer(x)
        return x
"""


@pytest.mark.parametrize(
    ("first", "rest", "gains"), [("2 * a, 2 ** b", "2 ** b, 2 ** b", False), ("d, d", "d, d", True)]
)
def test_lists_of_layers_beside_the_layers_have_to_be_alike(first, rest, gains):
    head = PRELUDE[: PRELUDE.index("class Model")]
    text = head + LEVELS.replace("FIRST", first).replace("REST", rest).replace("sizes)", "sizes=(1, 2, 4, 8))", 1)
    outer, *inner = decide(text)
    assert isinstance(outer, Plan) == gains, outer
    assert isinstance(inner[0], Plan) != gains, inner  # the loop over each stage, where the outer one stays


@pytest.mark.parametrize(
    ("table", "gains"),
    [
        ("[1, 2, 4, 8, 4, 2, 1]", False),
        ("[1, 2, 1, 2]", False),
        ("[1, 2, 1, 2, 1, 2]", True),
        ("[1, 1, 1, 2]", True),
        ("[2, 1, 1, 1]", True),
    ],
)
def test_numbers_that_are_written_out_share_where_they_come_back_often_enough(table, gains):
    padded = SETTINGS.replace("width, kernel, key):", "width, kernel, key):\n        self.pad = kernel")
    padded = padded.replace("width, width, kernel, key", "width, width, 1, key").replace(
        "    conv: eqx", "    pad: int = eqx.field(static=True)\n    conv: eqx"
    )
    found = only(
        net(f"self.layers = []\nfor pad in {table}:\n    self.layers.append(Conv(d, pad, key))", classes=padded)
    )
    assert isinstance(found, Plan) == gains, found


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


@pytest.mark.parametrize(("width", "gains"), [("d", True), ("d + 0 * i", False)])
def test_rows_of_layers_with_functions_of_their_own_are_alike_where_nothing_counts_them(width, gains):
    head = PRELUDE[: PRELUDE.index("class Model")].replace("import functools", "from collections.abc import Callable")
    outer = decide(head + ROWS.replace("WIDTH", width))[0]
    assert isinstance(outer, Plan) == gains, outer
    assert gains is False or (outer.kind, outer.holds.value) == (Kind.FOLD, "BlockSeq")


@pytest.mark.parametrize("made", ["Made(Block(d, key=k))", "cast(Block, Block(d, key=k))"])
def test_a_new_type_and_a_cast_are_what_they_are_given(made):
    new = "from typing import NewType, cast\n\nMade = NewType('Made', Block)\n\n\n"
    found = only(net(f"self.layers = [{made} for k in jr.split(key, n)]", classes=new))
    assert isinstance(found, Plan) and (found.safe, found.holds.value) == (True, "ArrayStacked"), found


UNANNOTATED = "[eqx.nn.Linear(sizes[i], sizes[i + 1], key=key) for i in range(len(sizes) - 1)]"


ALIKE = "\n\nsizes = [8, 8, 8, 8]\n"


def test_sizes_by_number_of_a_list_that_nothing_says_anything_of_may_repeat():
    assert isinstance(only(net(f"self.layers = {UNANNOTATED}") + ALIKE), Plan)
    nobody = net(f"self.layers = {UNANNOTATED}") + ALIKE.replace("8, 8, 8, 8", "8, 16, 32")
    assert isinstance(only(nobody), Refusal)  # of those that the project lists none does
    assert isinstance(only(net(f"self.layers = {UNANNOTATED}")), Plan)  # which a library leaves to its callers
    others = f"self.layers = {UNANNOTATED.replace('sizes[i]', '2 ** i')}"
    assert isinstance(only(net(others)), Refusal)  # not what a caller lists


BRANCHES = "    def __call__(self, xs):\n        return [layer(x) for layer, x in zip(self.layers, xs)]\n"


@pytest.mark.parametrize("annotation", ["", ": list[int]", ": Sequence[int]"])
@pytest.mark.parametrize(
    ("made", "gains"),
    [
        ("[eqx.nn.Linear(size, d, key=key) for size in sizes]", False),
        ("[eqx.nn.Linear(sizes[i], d, key=key) for i in range(len(sizes))]", False),
        ("[eqx.nn.Linear(d, d, key=key) for _ in sizes]", True),
        ("[eqx.nn.Linear(d if i else sizes, d, key=key) for i in range(4)]", True),
    ],
)
def test_independent_layers_have_the_sizes_that_a_caller_lists_for_each(made, gains, annotation):
    text = net(f"self.layers = {made}", f"d, key, sizes{annotation}").replace(APPLY, BRANCHES)
    found = only(text)
    assert isinstance(found, Plan) == gains, found
    assert gains or "the caller lists" in found.reason
    folded = net(f"self.layers = {made}", f"d, key, sizes{annotation}") + ALIKE
    assert isinstance(only(folded), Plan)  # one after another


MAKERS = """\
class Maker(eqx.Module):
    def make(self, key):
        return Block(8, key=key)


class Others(Maker):
    def make(self, key):
        return Other()


"""


@pytest.mark.parametrize("makers", ["list[Maker]", "tuple[Maker, ...]"])
def test_what_makers_of_any_class_make_may_be_of_any_class(makers):
    found = only(net("self.layers = [maker.make(key) for maker in makers]", f"key, makers: {makers}", MAKERS))
    assert isinstance(found, Refusal) and found.rule == "SCN203", found
    one = MAKERS.partition("class Others")[0]
    assert isinstance(
        only(net("self.layers = [maker.make(key) for maker in makers]", f"key, makers: {makers}", one)), Plan
    )


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
    ("head", "test"),
    [
        pytest.param("step in steps", "step.kind == 'attention'", id="by a field of the step"),
        pytest.param("i, step in enumerate(steps)", "step == 'attention'", id="by the step, counted"),
        pytest.param("step, width in zip(steps, n)", "step", id="by one of two"),
    ],
)
def test_steps_that_a_list_picks_share_no_body_where_some_have_no_parameters(head, test):
    found = only(steps(head, test, "Unit()"))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN202"
    assert "`step` picks the class of each layer, and a `Unit`, which has no parameters" in found.reason


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


@pytest.mark.parametrize("width", ["width: int", "width"])
@pytest.mark.parametrize(
    "made",
    [
        pytest.param("eqx.nn.Linear(dims[i], width, key=key) for i in range(n)", id="by number"),
        pytest.param("eqx.nn.Linear(a, width, key=key) for a in dims", id="walked"),
        pytest.param("eqx.nn.Linear(a, b, key=key) for a, b in zip(dims[:-1], dims[1:])", id="in pairs"),
    ],
)
def test_one_width_many_times_behind_another_is_not_listed_by_a_caller(made, width):
    init = f"dims = [d] + [width] * n\nself.layers = [{made}]"
    found = only(net(init, parameters=f"d: int, n, {width}, key"))
    assert isinstance(found, Plan)
    assert found.kind is Kind.GROUP
    assert not any("which the caller lists" in obligation for obligation in found.obligations)


@pytest.mark.parametrize("listed", ["[d] + sizes", "[d, *sizes]", "sizes"])
def test_widths_that_a_caller_lists_are_still_an_obligation(listed):
    init = f"dims = {listed}\nself.layers = [eqx.nn.Linear(a, b, key=key) for a, b in zip(dims[:-1], dims[1:])]"
    found = only(net(init, parameters="d: int, sizes: list[int], key") + ALIKE)
    assert isinstance(found, Plan)
    assert any("which the caller lists" in obligation for obligation in found.obligations)


@pytest.mark.parametrize(
    ("given", "gains"),
    [
        pytest.param("() if bare else (Block(8, key=key),)", False, id="one or none"),
        pytest.param("() if bare else tuple(Block(8, key=k) for k in jr.split(key, n))", True, id="many or none"),
    ],
)
def test_a_tuple_that_holds_one_layer_or_none_is_no_list_of_many(given, gains):
    text = net("self.layers = tuple(layers)", parameters="layers=()")
    text += f"\n\ndef build(n, bare, key):\n    layers = {given}\n    return Net(layers)\n\n\ndef wrap(layers):\n    return Net(layers)\n"
    found = decide(text)
    assert any(isinstance(one, Plan) for one in found) is gains


@pytest.mark.parametrize(
    ("init", "gains"),
    [
        pytest.param("for w in widths:\n    for _ in range(n):\n        add(Wide(w))", True, id="stages of several"),
        pytest.param(
            "for _ in range(n):\n    for w in (1, 2, 4):\n        add(Wide(2**w))", True, id="turns that repeat"
        ),
        pytest.param(
            "for _ in range(n):\n    for i in range(d):\n        add(Wide(2**i))", True, id="turns of a number"
        ),
        pytest.param("for w in widths:\n    add(Wide(w))", False, id="one of each"),
        pytest.param("for i in range(n):\n    add(Wide(2**i))", False, id="one for each power"),
        pytest.param("for a in widths:\n    for b in widths:\n        add(Wide(a * b))", False, id="each with each"),
    ],
)
def test_layers_of_loops_in_one_another_repeat_along_one_of_them(init, gains):
    wide = "class Wide(eqx.Module):\n    size: int = eqx.field(static=True)\n\n    def __call__(self, x):\n        return x\n\n\n"
    made = "self.layers = []\n" + init.replace("add(", "self.layers.append(")
    found = only(net(made, parameters="n, d, widths, key", classes=wide))
    assert isinstance(found, Plan) == gains, found


@pytest.mark.parametrize(
    ("kinds", "gains"),
    [
        ("kinds=('local', 'full') * 6", True),
        ("kinds = ['local'] * 5 + ['full']", True),
        ("kinds=['full' if i % 6 == 5 else 'local' for i in range(24)]", True),
        ("kinds=['local', 'local', 'local', 'full']", True),
        ("kinds=['local', 'full', 'dense']", False),
        ("kinds=['local', 'full'] * 2", False),
        ("others=['local', 'full'] * 6", False),
        ("kinds=['full' if i > 6 else 'local' for i in range(24)]", False),
    ],
)
@pytest.mark.parametrize(
    "made",
    [
        "[Kind(kind) for kind in config.kinds]",
        "[Kind(kind) for kind, k in zip(config.kinds, jr.split(key, n))]",
        "[Kind(kind) for i, kind in enumerate(config.kinds)]",
    ],
)
def test_kinds_that_a_configuration_lists_gain_where_they_repeat(made, kinds, gains):
    kind = "class Kind(eqx.Module):\n    kind: object = eqx.field(static=True)\n\n    def __call__(self, x):\n        return x\n\n\n"
    given = kinds if " = " in kinds else f"Config({kinds})"
    text = net(f"self.layers = {made}", parameters="config, n, key", classes=kind) + f"\n\n{given}\n"
    assert isinstance(only(text), Plan) == gains, only(text)


TABLE = "kinds = {'a': Block, 'b': lambda d, key: Wide(d), 'c': lambda d, key: Unit()}\n"


@pytest.mark.parametrize(
    ("made", "given", "gains"),
    [
        pytest.param("[kinds[c](d, key=k) for c, k in zip(arch, jr.split(key, n))]", "", False, id="a text of kinds"),
        pytest.param("[kinds[c](d, key=k) for c, k in zip(arch, jr.split(key, n))]", "arch = ['a', 'b'] * n", True, id="a pattern"),
        pytest.param("[kinds.get(c)(d, key=key) for c in arch.split('|')]", "", False, id="parts of a text"),
        pytest.param("[{'a': Block, 'b': lambda d, key: Wide(d)}[c](d, key=key) for c in arch]", "", True, id="two of them"),
    ],
)  # fmt: skip
def test_layers_of_many_kinds_that_a_table_holds_gain_where_they_repeat(made, given, gains):
    classes = "class Wide(eqx.Module):\n    size: int = eqx.field(static=True)\n\n    def __call__(self, x):\n        return x\n\n\n"
    classes += "class Unit(eqx.Module):\n    def __call__(self, x):\n        return x\n\n\n"
    text = net(f"{TABLE}self.layers = {made}", parameters="arch, n, d, key", classes=classes) + f"\n\n{given}\n"
    assert isinstance(found := only(text), Plan) == gains, found
