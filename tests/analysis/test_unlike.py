"""Loops whose layers may differ in more than arrays, or that are walked in another form: they go to a `BlockSeq`."""

import pytest
from helpers import decide, kept, model, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack
from tests.texts import texts

LOOP = "for layer in self.layers:\n    x = layer(x)"


def sequence(text: str) -> Plan:
    found = only(text)
    assert isinstance(found, Plan), found
    assert (found.holds, found.rule) == (Holds.BLOCK_SEQ, "SCN102")
    return found


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Block(8 * i, key=key) for i in range(depth)]",
        "self.layers = []\ndim = 8\nfor k in jr.split(key, 3):\n    self.layers.append(Block(dim, key=k))\n    dim = dim * 2",
    ],
)
def test_layers_of_a_size_each_are_left_to_evidence(init):
    found = only(model(init=init))
    assert isinstance(found, Refusal), found
    assert found.rule == "SCN203"
    assert found.undecided is not None


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Block(8, key=k) if depth else Other() for k in jr.split(key, depth)]",
        "self.layers = []\nfor k in jr.split(key, 3):\n    self.layers.append(Block(8, key=k))\nself.layers.append(Other())",
        "self.layers = [Block(8, r, key=k) for r, k in zip([0.1 * i for i in range(depth)], jr.split(key, depth))]",
        "self.layers = [Block(8, key=key)] + [Block(9, key=k) for k in jr.split(key, depth)]",
        "self.layers = [Block(8, key=key), Block(8, key=key), Block(8, key=key), Block(9, key=key)]",
        "self.layers = [Block(8, lambda y: y, key=k) for k in jr.split(key, depth)]",
        "self.layers = [Block(8, functools.partial(helper), key=k) for k in jr.split(key, depth)]",
    ],
)
def test_layers_that_are_built_differently_are_stacked_where_they_are_built(init):
    plan = sequence(kept(model(init=init)))
    assert isinstance(plan.stack, InitStack)
    assert plan.safe


BUILD = "self.layers = []\n{0}\nfor k in jr.split(key, depth):\n    self.layers.append(Block(fan, key=k))\n    {1}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fan = 3", "fan = 8"),
        ("fan = 3", "fan += 8"),
        ("fan = 3", "fan = 8 + fan"),
        ("fan, width = 3, 8", "width = width * 2\n    fan = width"),
        ("fan = 3", "fan = 8 * fan\n    fan = fan + 1"),
    ],
)
def test_widths_that_go_from_layer_to_layer_are_left_to_evidence(before, after):
    found = only(model(init=BUILD.format(before, after)))
    assert isinstance(found, Refusal) and found.rule == "SCN203", found


@pytest.mark.parametrize(
    "made",
    [
        "jnp.ones(dim).astype(rate)",
        "jnp.ones(dim).astype(dtype=rate)",
        "jnp.ones(dim, dtype=rate)",
        "jnp.asarray(np.ones(8), rate)",
        "jnp.ones_like(self.linear.bias, dtype=rate)",
        "jr.normal(key, (dim,), dtype=rate)",
    ],
)
def test_arrays_of_several_dtypes_are_not_of_one_body(made):
    init = "self.layers = [Block(8, jnp.float32 if i < 3 else jnp.bfloat16, key=key) for i in range(depth)]"
    text = kept(model(init=init)).replace("self.rate = rate", f"self.rate = {made}")
    assert made in text
    assert sequence(text).safe


def test_numbers_of_numpy_are_arrays_of_the_layers():
    plan = only(kept(model(init="self.layers = [Block(8, r, key=key) for r in np.linspace(0, 1, depth)]")))
    assert isinstance(plan, Plan) and (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, True)


def test_of_layers_of_a_class_that_is_not_shown_only_a_run_can_tell():
    plan = sequence(model(init="self.layers = [make(k) for k in jr.split(key, depth)]"))
    assert plan.kind is Kind.FOLD
    (text,) = texts(plan.obligations)
    assert text.startswith("the elements of `self.layers` are Equinox modules, and applying one has no side effects")


@pytest.mark.parametrize(
    "walked",
    [
        "self.layers[1:]",
        "self.layers[:-1]",
        "reversed(self.layers[:-1])",
        "self.layers[1:][::-1]",
        "tuple(reversed(list(self.layers[1:])))",
    ],
)
def test_a_part_of_the_list_and_its_reverse_are_taken_in_the_call(walked):
    plan = sequence(model(f"for layer in {walked}:\n    x = layer(x)"))
    assert (plan.container, plan.safe) == (walked, True)
    assert isinstance(plan.stack, CallStack)


@pytest.mark.parametrize("walked", ["reversed(self.layers)", "self.layers[::-1]", "list(reversed(self.layers))"])
def test_a_whole_list_is_applied_in_reverse_as_it_is_stacked(walked):
    plan = only(model(f"for layer in {walked}:\n    x = layer(x)"))
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack)
    assert (plan.container, plan.safe, plan.reverse, plan.rule) == ("self.layers", True, True, "SCN101")


@pytest.mark.parametrize(
    ("head", "source"),
    [
        ("for i, layer in enumerate(self.layers):", "range(len(self.layers))"),
        ("for i, layer in enumerate(self.layers, 1):", "range(1, 1 + len(self.layers))"),
        ("for i, layer in enumerate(self.layers, start=len(keys)):", "range(len(keys), len(keys) + len(self.layers))"),
        ("for i, layer in enumerate(self.layers[:-1]):", "range(len(self.layers[:-1]))"),
        ("for i, layer in enumerate(reversed(self.layers)):", "range(len(self.layers))"),
        ("for i, layer in enumerate(reversed(self.layers[1:])):", "range(len(self.layers[1:]))"),
        ("for i, layer in enumerate(self.layers[1:][::-1]):", "range(len(self.layers[1:][::-1]))"),
        ("for i, layer in enumerate(list(reversed(self.layers))):", "range(len(self.layers))"),
        ("for i, layer in enumerate(tuple(self.layers[1:])):", "range(len(self.layers[1:]))"),
    ],
)
def test_the_index_is_walked_beside_the_layers(head, source):
    plan = sequence(model(f"{head}\n    x = layer(x) * i"))
    assert [(xs.target, xs.source, xs.axis) for xs in plan.xs] == [("i", source, 0)]
    assert plan.call is None


def test_an_index_that_is_not_read_leaves_an_array_stacked():
    plan = only(model("for i, layer in enumerate(self.layers):\n    x = layer(x)"))
    assert isinstance(plan, Plan)
    assert (plan.holds, plan.xs) == (Holds.ARRAY_STACKED, ())


def test_a_second_list_of_layers_is_walked_beside_the_first():
    plan = sequence(model("for layer, other in zip(self.layers, self.layers):\n    x = other(layer(x))"))
    assert [xs.source for xs in plan.xs] == ["self.layers"]


@pytest.mark.parametrize(
    ("statement", "holds"),
    [
        ("x = layer(x) if rate else x", Holds.BLOCK_SEQ),
        ("if rate > 0.5:\n        x = x * 2", Holds.BLOCK_SEQ),
        ("x = x * (rate and 2)", Holds.BLOCK_SEQ),
        ("x = x * (not rate)", Holds.BLOCK_SEQ),
        ("x = x + int(rate)", Holds.BLOCK_SEQ),
        ("x = x * rate", Holds.ARRAY_STACKED),
        ("x = jnp.where(rate > 0.5, x, 0)", Holds.ARRAY_STACKED),
        ("if rate is not None:\n        x = x * rate", Holds.ARRAY_STACKED),
        ("if mask is None:\n        x = x * rate", Holds.ARRAY_STACKED),
        ("if mask.rate:\n        x = x * rate", Holds.ARRAY_STACKED),
    ],
)
def test_python_values_walked_beside_the_layers_that_the_body_branches_on(statement, holds):
    loop = f"for layer, rate in zip(self.layers, rates):\n    x = layer(x)\n    {statement}"
    plan = only(model(loop, parameters="x, mask, rates"))
    assert isinstance(plan, Plan), plan
    assert plan.holds is holds


def test_of_two_lists_the_one_that_the_body_applies_is_that_of_the_layers():
    text = model("for other, layer in zip(self.others, self.layers):\n    x = layer(x)")
    text = text.replace("    self.layers = [", "    self.others = [Other(), Other(), Other()]\n        self.layers = [")
    plan = sequence(text.replace("    layers: list[Block]", "    layers: list[Block]\n    others: list[Other]"))
    assert (plan.container, plan.layer) == ("self.layers", "layer")


def test_layers_with_state_of_their_own():
    init = "self.layers = [eqx.nn.BatchNorm(8, axis_name='b') for k in jr.split(key, depth)]"
    loop = "for layer in self.layers:\n    x, mask = layer(x, mask)"
    assert sequence(model(loop, init=init)).carry == ("x", "mask")


def test_layers_that_make_an_index_of_state_are_not_alike():
    text = model().replace(
        "    linear: eqx.nn.Linear\n", "    linear: eqx.nn.Linear\n    index: eqx.nn.StateIndex\n", 1
    )
    made = "        self.linear = eqx.nn.Linear(dim, dim, key=key)\n"
    text = text.replace(made, f"{made}        self.index = eqx.nn.StateIndex(jnp.zeros(4))\n", 1)
    assert sequence(text).holds is Holds.BLOCK_SEQ


def test_a_list_that_two_loops_walk_has_one_container():
    text = model(LOOP + "\nfor i, layer in enumerate(self.layers):\n    x = layer(x) * i")
    plans = decide(text)
    assert [plan.holds for plan in plans if isinstance(plan, Plan)] == [Holds.BLOCK_SEQ, Holds.BLOCK_SEQ]


@pytest.mark.parametrize(
    "init",
    [
        "self.layers, self.norm = [Block(8, key=k) for k in keys], eqx.nn.LayerNorm(8)",
        "self.layers, rest = [], []\nfor k in keys:\n    self.layers.append(Block(8, key=k))\n    rest.append(k)",
        "blocks, rest = [], []\nfor k in keys:\n    blocks.append(Block(8, key=k))\nself.layers = tuple(blocks)",
    ],
)
def test_lists_that_are_assigned_beside_other_values_are_built_stacked(init):
    plan = only(model(init=f"keys = jr.split(key, depth)\n{init}"))
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack), plan
    assert (plan.holds.value, plan.safe) == ("ArrayStacked", True)


@pytest.mark.parametrize(
    "init",
    [
        "self.layers, rest = built(key)",
        "self.layers, *rest = [], [], []",
    ],
)
def test_lists_that_are_unpacked_from_one_value_are_not_shown(init):
    found = decide(model(init=init))
    assert not any(isinstance(one, Plan) and one.safe for one in found)


FACTORY = """\
def layer_class(act):
    class Layer(eqx.Module):
        linear: eqx.nn.Linear

        def __init__(self, dim, *, key):
            self.linear = eqx.nn.Linear(dim, dim, key=key)

        def __call__(self, x):
            return x + act(self.linear(x))

    return Layer


"""


def test_a_class_that_a_function_makes_is_another_class_each_time():
    once = "Layer = layer_class(jnp.tanh)\nself.layers = [Layer(8, key=k) for k in jr.split(key, depth)]"
    anew = "self.layers = [layer_class(a)(8, key=k) for a, k in zip([jnp.tanh, jnp.sin], jr.split(key, depth))]"
    for init in (once, anew):
        (found,) = decide(model(init=init).replace("class Model", f"{FACTORY}class Model"))
        assert not (isinstance(found, Plan) and found.safe), found


@pytest.mark.parametrize("blocks", ["[functools.partial(Block, rate=0.1 * i) for i in range(4)]", "[Block] * 4"])
def test_constructors_out_of_a_list_are_left_to_evidence(blocks):
    init = "self.layers = [block(8, key=k) for block, k in zip(BLOCKS, jr.split(key, 4))]"
    (found,) = decide(model(init=init).replace("class Model", f"BLOCKS = {blocks}\n\n\nclass Model"))
    assert isinstance(found, Refusal) and found.rule == "SCN201"


@pytest.mark.parametrize(
    "made", ["lambda x: x", "functools.partial(jax.nn.relu)", "Settings()", "jax.vmap(jax.nn.relu)"]
)
def test_layers_that_make_a_function_or_an_object_are_not_alike(made):
    text = model().replace("    linear: eqx.nn.Linear\n", "    linear: eqx.nn.Linear\n    own: object\n", 1)
    stored = "        self.linear = eqx.nn.Linear(dim, dim, key=key)\n"
    text = text.replace(stored, f"{stored}        self.own = {made}\n", 1)
    assert only(f"class Settings:\n    pass\n\n\n{text}").holds is Holds.BLOCK_SEQ
