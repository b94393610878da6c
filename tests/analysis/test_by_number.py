"""Loops that take their layers by number: the numbers are exactly those that the loop counts through."""

import pytest
from helpers import decide, model, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack

INIT = """\
self.layers = [Block(8, key=k) for k in jr.split(key, depth)]
self.norms = [Other() for _ in range(depth + 1)]
self.n = depth
self.acts = [jnp.tanh, jnp.sin]
"""


def text_of(loop: str, **given: str) -> str:
    text = model(loop, init=INIT, **given)
    return text.replace("    norm: eqx.nn.LayerNorm\n", "    norms: list[Other]\n    acts: list\n    n: int\n")


def planned(loop: str, stack=None, **given: str) -> Plan:
    found = only(text_of(loop, **given), stack=stack)
    assert isinstance(found, Plan), found
    return found


def refused(loop: str, **given: str) -> Refusal:
    found = only(text_of(loop, **given))
    assert isinstance(found, Refusal), found
    return found


def test_the_lists_own_numbers_are_the_list():
    plan = planned("for i in range(len(self.layers)):\n    x = self.layers[i](x)")
    assert (plan.container, plan.numbers, plan.xs) == ("self.layers", None, ())
    assert (plan.rule, plan.holds, plan.kind) == ("SCN101", Holds.ARRAY_STACKED, Kind.FOLD)
    assert plan.call is not None and plan.call.owner == "Block"
    assert isinstance(plan.stack, InitStack)


@pytest.mark.parametrize(
    ("head", "number", "numbers"),
    [
        ("for i in range(0, len(self.layers)):", "i", None),
        ("for i in range(self.n):", "i", "range(self.n)"),
        ("for i in range(1, self.n):", "i", "range(1, self.n)"),
        ("for i in range(self.n - 1, -1, -1):", "i", "range(self.n - 1, -1, -1)"),
        ("for i in reversed(range(self.n)):", "i", "reversed(range(self.n))"),
        ("for i in range(len(self.norms)):", "i", "range(len(self.norms))"),
        ("for i in range(len(self.layers)):", "i - 1", "[i - 1 for i in range(len(self.layers))]"),
        ("for i in range(len(self.layers)):", "-i - 1", "[-i - 1 for i in range(len(self.layers))]"),
        ("for i in range(self.n // 2):", "2 * i + 1", "[2 * i + 1 for i in range(self.n // 2)]"),
        ("for i in (0, 2, 1):", "i", "(0, 2, 1)"),
    ],
)
def test_other_numbers_are_kept_as_they_are_written(head, number, numbers):
    plan = planned(f"{head}\n    x = self.layers[{number}](x)")
    assert (plan.container, plan.numbers, plan.xs) == ("self.layers", numbers, ())
    assert isinstance(plan.stack, InitStack)


@pytest.mark.parametrize("part", ["[:-2]", "[2:]", "[:mask]"])
def test_the_length_of_a_part_of_the_list_is_not_counted_through(part):
    assert refused(f"for i in range(len(self.layers{part})):\n    x = self.layers[i](x)").rule == "SCN208"


def test_a_list_that_stays_as_it_is_is_taken_apart_in_the_call():
    plan = planned("for i in range(1, self.n):\n    x = self.layers[i](x)", stack="call")
    assert isinstance(plan.stack, CallStack)
    assert (plan.container, plan.numbers) == ("[self.layers[i] for i in range(1, self.n)]", None)


def test_the_number_itself_is_walked_beside_where_it_is_read():
    plan = planned("for i in range(1, self.n):\n    x = self.layers[i](x) * i + keys[i]")
    assert [(one.target, one.source) for one in plan.xs] == [("i", "range(1, self.n)")]
    assert plan.holds is Holds.BLOCK_SEQ


@pytest.mark.parametrize(
    ("head", "numbers", "xs"),
    [
        ("for i, key in enumerate(keys):", "range(len(keys))", [("key", "keys")]),
        ("for i, key in enumerate(keys, 1):", "range(1, 1 + len(keys))", [("key", "keys")]),
        ("for i, key in zip(range(self.n), keys):", "range(self.n)", [("key", "keys")]),
        ("for key, i in zip(keys, range(self.n)):", "range(self.n)", [("key", "keys")]),
        ("for i, (key, m) in enumerate(zip(keys, mask)):", "range(len(keys))", [("key", "keys"), ("m", "mask")]),
    ],
)
def test_what_else_the_loop_walks_stays_beside_the_layers(head, numbers, xs):
    plan = planned(f"{head}\n    x = self.layers[i](x, key=key)")
    assert (plan.container, plan.numbers) == ("self.layers", numbers)
    assert [(one.target, one.source) for one in plan.xs] == xs


def test_a_second_list_is_taken_by_the_same_numbers():
    plan = planned("for i in range(len(self.layers)):\n    x = self.norms[i + 1](self.layers[i](x))")
    assert [(one.target, one.source) for one in plan.xs] == [
        ("norm", "[self.norms[i + 1] for i in range(len(self.layers))]")
    ]
    assert (plan.container, plan.layer, plan.numbers) == ("self.layers", "layer", None)


def test_what_is_taken_under_a_condition_stays_where_it_is():
    plan = planned("for i in range(self.n):\n    x = self.layers[i](x)\n    if i:\n        x = self.norms[i](x)")
    assert [one.target for one in plan.xs] == ["i"]
    assert plan.layer == "layer"


@pytest.mark.parametrize(
    "body",
    [
        "layer = self.layers[i]\n    x = layer(x)",
        "layer: Block = self.layers[i]\n    x = layer(x)",
        "h = x\n    layer = self.layers[i]\n    x = layer.attend(h) + self.layers[i](x)",
    ],
)
def test_a_name_that_the_body_gives_to_the_layer_is_its_name(body):
    plan = planned(f"for i in range(self.n):\n    {body}")
    assert (plan.layer, plan.numbers, plan.xs) == ("layer", "range(self.n)", ())
    assert "" in [one.text for one in plan.replaced]


@pytest.mark.parametrize(
    "body",
    [
        "layer = self.layers[i]\n    layer = layer.linear\n    x = layer(x)",
        "if keys is None:\n        layer = self.layers[i]\n    else:\n        layer = self.layers[i]\n    x = layer(x)",
        "x = (lambda layer: self.layers[i](layer))(x)",
    ],
)
def test_a_name_that_the_body_binds_again_is_its_own(body):
    plan = planned(f"for i in range(len(self.layers)):\n    {body}")
    assert plan.layer == "layer_2"


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(self.n):\n    if mask is not None:\n        x = self.layers[i](x)",
        "for i in range(self.n):\n    x = x if mask is None else self.layers[i](x)",
        "for i in range(self.n):\n    x = mask and self.layers[i](x)",
        "for i in range(self.n):\n    if mask is None:\n        continue\n    x = self.layers[i](x)",
        "for i in range(99):\n    x = self.layers[i](x)\n    if i + 1 == self.n:\n        break",
        "for i in range(self.n):\n    i = i - 1\n    x = self.layers[i](x)",
        "for i in range(self.n):\n    if mask is not None:\n        x = self.layers[-i](x)",
        "for i in range(next(keys)):\n    x = self.layers[i](x)",
        "for i in range(self.n)[::-1]:\n    x = self.layers[i](x)",
        "for i in self.order:\n    x = self.layers[i](x)",
        "for i in range(self.n):\n    x = jax.vmap(lambda y: self.layers[i](y))(x)",
    ],
)
def test_what_may_not_be_taken_in_every_turn_is_left_alone(loop):
    assert refused(loop).rule in ("SCN208", "SCN205", "SCN212")


def test_a_loop_over_the_lists_own_numbers_may_end_early():
    body = (
        "layer = self.layers[i]\n    if i == 2:\n        return layer(x)\n    x = layer(x) + self.layers[i].attend(x)"
    )
    plan = planned(f"for i in range(len(self.layers)):\n    {body}")
    assert plan.exits == {"return"}


def test_of_the_lists_own_numbers_none_is_too_large():
    loop = "for i in range(len(self.layers)):\n    if mask is not None:\n        x = self.layers[i](x)"
    assert planned(loop).numbers is None


@pytest.mark.parametrize(
    "body",
    [
        "x = self.layers[i](x)\n    self.layers[i] = layer",
        "x = self.layers[i](x)\n    layers = self.layers = keys",
        "x = self.layers[i](x)\n    self.n = 3",
        "x = self.layers[i](x)\n    self.layers.append(x)",
    ],
)
def test_a_list_that_the_body_changes_is_left_alone(body):
    assert not any(isinstance(one, Plan) for one in decide(text_of(f"for i in range(self.n):\n    {body}")))


def test_a_range_of_the_files_own_is_not_pythons():
    loop = "for i in range(self.n):\n    x = self.layers[i](x)"
    text = text_of(loop).replace("def helper(x):", "def range(n):\n    return [0] * n\n\n\ndef helper(x):")
    found = only(text)
    assert isinstance(found, Refusal) and "count through" in found.reason


def test_a_zip_with_numbers_that_nobody_reads_still_counts_the_turns():
    plan = planned("for _, layer in zip(range(2), self.layers):\n    x = layer(x)")
    assert [(one.target, one.source) for one in plan.xs] == [("_", "range(2)")]


@pytest.mark.parametrize(
    ("after", "rule"), [("return x, i", "SCN209"), ("return x, layer", "SCN209")], ids=["number", "layer"]
)
def test_values_of_the_last_turn_that_are_read_afterwards(after, rule):
    loop = "for i in range(self.n):\n    layer = self.layers[i]\n    x = layer(x)"
    assert refused(loop, after=after).rule == rule


def test_layers_told_apart_as_objects_are_not_understood():
    loop = "for i in range(self.n):\n    x = self.layers[i](x) if self.layers[i] is not mask else x"
    assert not planned(loop).safe


def test_a_comprehension_over_numbers_is_one_over_layers():
    plan = planned("ys = [self.layers[i](x, keys[i]) for i in range(self.n)]")
    assert (plan.kind, plan.rule, plan.numbers) == (Kind.MAP, "SCN104", "range(self.n)")
    assert plan.mapped is not None and plan.mapped.element == "layer(x, key)"
    assert [(one.target, one.source) for one in plan.xs] == [("key", "[keys[i] for i in range(self.n)]")]


def test_loops_in_one_another_take_their_own():
    loop = "for j in range(2):\n    for i in range(self.n):\n        x = self.layers[i](x) + self.acts[j](x)"
    plans = decide(text_of(loop))
    assert [(type(one), one.container) for one in plans] == [(Plan, "self.layers")]
    assert isinstance(plans[0], Plan) and plans[0].layer == "layer"


def test_a_list_in_an_attribute_of_a_module_held():
    text = text_of("for i in range(len(self.inner.layers)):\n    x = self.inner.layers[i](x)")
    inner = """
class Inner(eqx.Module):
    layers: list[Block]

    def __init__(self, depth, *, key):
        self.layers = [Block(8, key=k) for k in jr.split(key, depth)]


class Model("""
    text = text.replace("\nclass Model(", inner).replace(
        "    layers: list[Block]\n    norms", "    inner: Inner\n    norms"
    )
    text = text.replace(
        "self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\n        self.norms",
        "self.inner = Inner(depth, key=key)\n        self.norms",
    )
    plan = only(text)
    assert isinstance(plan, Plan)
    assert (plan.container, plan.numbers) == ("self.inner.layers", None)


def test_a_number_that_counts_to_the_length_is_no_layer():
    plan = planned("for i in range(len(self.layers)):\n    x = self.layers[-i](x, mask if i > 1 else None)")
    assert plan.numbers == "[-i for i in range(len(self.layers))]"


def test_numbers_that_can_be_walked_only_once_are_made_a_sequence():
    plan = planned("for i in reversed(range(self.n)):\n    x = self.layers[i](x) * i")
    assert [one.source for one in plan.xs] == ["range(self.n)[::-1]"]


@pytest.mark.parametrize(
    "own", ["range = mask", "def range(n):\n    return reversed([0, 1])", "len = self.n.__class__"]
)
def test_a_range_of_the_functions_own_is_not_pythons(own):
    loop = "for i in range(len(self.layers)):\n    x = self.layers[i](x)"
    assert isinstance(only(text_of(loop)), Plan)
    assert not any(isinstance(one, Plan) for one in decide(text_of(loop, before=own)))
