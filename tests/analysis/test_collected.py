"""Loops that carry a value and keep one of every layer: what they collect, and when it cannot leave a scan."""

import pytest
from helpers import decide, model, only

from scanify.analysis.plan import Adds, Collection, Holds, Kind, Plan, Refusal

LIST, TUPLE, DICT = Adds.LIST, Adds.TUPLE, Adds.DICT


def loop(text: str, head: str = "for layer in self.layers:") -> str:
    return f"{head}\n    " + text.replace("\n", "\n    ")


def plan(text: str, before: str = "outs = []", head: str = "for layer in self.layers:", **given) -> Plan:
    found = only(of_pairs(text, model(loop(text, head), before=before, **given)))
    assert isinstance(found, Plan), found
    assert (found.rule, found.ys) == ("SCN105", tuple(one.name for one in found.collections))
    return found


def of_pairs(text: str, code: str) -> str:
    """The model, whose layers give two values where the loop takes two."""
    pairs = text.startswith("x, ") or "\nx, c = " in text
    return code.replace("return x + self.linear(x)", "return x + self.linear(x), x") if pairs else code


def refused(text: str, why: str, before: str = "outs = []", head: str = "for layer in self.layers:", **given) -> None:
    found = only(model(loop(text, head), before=before, **given))
    assert isinstance(found, Refusal), found
    assert found.rule == "SCN206", found
    assert why in found.reason, found.reason


@pytest.mark.parametrize(
    ("text", "before", "adds"),
    [
        ("x = layer(x)\nouts.append(x)", "outs = []", LIST),
        ("outs.append(x)\nx = layer(x)", "outs = [x]\nouts.append(mask)", LIST),
        ("x = layer(x)\nouts += [x]", "outs: list[jax.Array] = [jnp.ones(3) for k in keys]", LIST),
        ("x = layer(x)\nouts += (x,)", "outs = [None] * 3", LIST),
        ("x, new = layer(x)\nouts += new", "a, outs = (), []", LIST),
        ("x = layer(x)\nouts = outs + [x]", "outs = []", LIST),
        ("x = layer(x)\nouts += (x,)", "outs = ()", TUPLE),
        ("x = layer(x)\nouts = outs + (x,)", "outs = (x,)", TUPLE),
        ("x, outs['last'] = layer(x)", "outs = {}", DICT),
        ("x = layer(x)\nfor _ in range(2):\n    outs['a'] = x", "outs = {}", DICT),
        ("outs['in'] = x\nx = layer(x)\nouts['a'] = x", "outs = dict(a=x)", DICT),
        ("for y in x:\n    x = layer(x)\n    outs.append(x)", "outs = []", LIST),
        ("with jax.named_scope('a'):\n    x = layer(x)\n    outs.append(x)", "outs = []", LIST),
    ],
)
def test_ways_of_collecting(text, before, adds):
    found = plan(text, before)
    assert (found.kind, found.holds, found.carry) == (Kind.SCAN, Holds.ARRAY_STACKED, ("x",))
    assert found.collections == (Collection("outs", adds),)
    assert "outs" not in found.broadcast
    assert found.safe


@pytest.mark.parametrize(
    "before",
    [
        "outs = [] if mask else None",
        "if mask is None:\n    outs = None\nelse:\n    outs = [x]",
    ],
)
def test_a_list_that_may_be_none(before):
    found = plan("x = layer(x)\nif mask:\n    outs.append(x)", before)
    assert found.collections == (Collection("outs", LIST, surely=False),)


def test_several_collections_and_several_carries():
    text = "x, mask, y = layer(x, mask)\nouts.append(x)\nif keys:\n    seen['y'] = y"
    found = plan(text, "outs = []\nseen = {}")
    assert (found.carry, found.ys) == (("x", "mask"), ("outs", "seen"))


def test_caches_that_are_read_beside_the_layers_and_collected_anew():
    head = "for layer, cache in zip(self.layers, caches):"
    before = "new_caches = []\ncaches = [None] * len(self.layers)"
    found = plan("x, new = layer(x, cache)\nnew_caches.append(new)", before, head)
    assert (found.ys, found.holds) == (("new_caches",), Holds.BLOCK_SEQ)  # a cache may hold numbers
    assert [(xs.target, xs.source) for xs in found.xs] == [("cache", "caches")]


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("x = layer(x)\nif i in self.taps:\n    outs.append(x)", "outs = []"),
        ("x = layer(x)\nouts[f'layer {i}'] = x", "outs = {}"),
    ],
)
def test_the_index_needs_a_sequence_that_traces_every_layer(text, before):
    assert plan(text, before, "for i, layer in enumerate(self.layers):").holds is Holds.BLOCK_SEQ


def test_names_of_the_layers_need_a_sequence_that_traces_every_layer():
    found = plan("x = layer(x)\nouts[name] = x", "outs = {}", "for layer, name in zip(self.layers, keys):")
    assert found.holds is Holds.BLOCK_SEQ
    assert plan("x = layer(x)\nouts['x'] = x", "outs = {}").holds is Holds.ARRAY_STACKED


def test_keys_that_are_walked_beside_the_layers_are_arrays():
    for before in ("outs, ks = [], jr.split(mask, 3)", "outs = []\nks = jr.split(mask, 3)"):
        before = before.replace("3", "len(self.layers)")
        found = plan("x = layer(x, key=k)\nouts.append(x)", before, "for layer, k in zip(self.layers, ks):")
        assert found.holds is Holds.ARRAY_STACKED
    found = plan("x = layer(x, key=k)\nouts.append(x)", "outs, ks = [], mask", "for layer, k in zip(self.layers, ks):")
    assert found.holds is Holds.BLOCK_SEQ


def test_unlike_layers_are_groups():
    init = "self.layers = [Block(8 if i % 2 else 16, key=key) for i in range(depth)]"
    found = plan("x = layer(x)\nouts.append(x)", init=init)
    assert (found.kind, found.holds) == (Kind.GROUP, Holds.BLOCK_SEQ)


@pytest.mark.parametrize(
    "text",
    [
        "x = layer(x)\nouts.append(x + outs[-2])",
        "x = layer(x)\nif len(outs) < 3:\n    outs.append(x)",
        "x = layer(x)\nif outs is not mask:\n    outs.append(x)",
        "x = layer(x)\nouts.append([y for y in outs])",
        "x = layer(x)\nouts[len(outs)] = x",
        "x, outs[0] = layer(x, outs[0])",
        "x = layer(x, outs)\nouts.append(x)",
        "x = layer(x)\nouts.append(x)\nouts.pop()",
        "x = layer(x, lambda: outs)\nouts.append(x)",
        "x = layer(x)\nouts = outs + [outs]",
        "x = layer(x)\nouts = outs + [x]\nx = sum(outs)",
    ],
)
def test_a_list_that_the_body_reads(text):
    refused(text, "the loop reads `outs` too", "outs = [0]")


def test_a_list_whose_end_the_body_reads_is_to_give_it_a_name():
    found = only(
        model("for layer in self.layers:\n    outs.append(layer(outs[-1]))", before="outs = [x]", after="return outs")
    )
    assert found.rule == "SCN206" and "`last = outs[-1]` before the loop" in found.remedy
    named = "for layer in self.layers:\n    last = layer(last)\n    outs.append(last)"
    assert isinstance(only(model(named, before="outs = [x]\nlast = outs[-1]", after="return outs")), Plan)


def test_a_list_that_the_loop_walks():
    refused("x = layer(x)\nouts.append(x)", "the loop reads `outs` too", head="for layer, y in zip(self.layers, outs):")


@pytest.mark.parametrize(
    "before",
    [
        "outs = []\nself_outs = outs",
        "outs = []\nboth = (outs, 1)",
        "outs = []\nhelper(outs)",
        "outs = []\nyield outs",
        "outs = []\nother = [outs]",
    ],
)
def test_a_list_that_something_else_may_hold(before):
    refused("x = layer(x)\nouts.append(x)", "something else may hold `outs`", before)


def test_what_reads_the_list_after_the_loop_reads_all_of_it():
    for after in (
        "return outs[-1]",
        "self_outs = outs\nreturn self_outs",
        "return lambda: outs",
        "outs = x\nreturn outs",
    ):
        assert plan("x = layer(x)\nouts.append(x)", after=after)


def test_what_reads_the_list_in_a_loop_around_reads_it_before_the_loop_too():
    inner = "    for layer in self.layers:\n        x = layer(x)\n        outs.append(x)"
    for rest in ("    kept = outs", "    f = lambda: outs"):
        found = only(model(f"for turn in mask:\n{inner}\n{rest}", before="outs = []"))
        assert isinstance(found, Refusal), found
        assert "something else may hold `outs`" in found.reason
    assert isinstance(only(model(f"for turn in mask:\n{inner}", before="outs = []", after="return outs")), Plan)
    assert isinstance(only(model(f"for turn in mask:\n    outs = []\n{inner}", after="return outs")), Plan)


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("", "not shown to be a new list"),
        ("outs = mask", "not shown to be a new list"),
        ("outs = helper([])", "not shown to be a new list"),
        ("outs = other = []", "not shown to be a new list"),
        ("outs = [] if mask else keys", "not shown to be a new list"),
        ("for outs in [[], []]:\n    pass", "not shown to be a new list"),
        ("global outs\nouts = []", "not shown to be a new list"),
        ("outs = None", "not shown to be a new list"),
        ("outs = set()", "not shown to be a new list"),
        ("outs = ()", "another kind of container"),
        ("outs = {}", "another kind of container"),
    ],
)
def test_what_is_not_surely_a_list_of_this_function(before, why):
    parameters = "x, mask, keys" if before else "x, mask, keys, outs"
    refused("x = layer(x)\nouts.append(x)", why, before, parameters=parameters)


def test_lists_that_are_no_local_names():
    for text in ("self.seen.append(x)", "OUTS.append(x)", "keys.inner.append(x)", "keys[0] += x"):
        found = only(model(loop(f"x = layer(x)\n{text}")))
        assert isinstance(found, Refusal) or not found.safe


@pytest.mark.parametrize(("display", "before"), [("[*outs, x]", "[]"), ("(*outs, x)", "()"), ("(*outs, x)", "x,")])
def test_a_display_around_the_collection_is_a_carry_that_grows(display, before):
    found = only(model(loop(f"x = layer(x)\nouts = {display}"), before=f"outs = {before}", after="return x, outs"))
    assert isinstance(found, Refusal) or not found.safe


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("x = layer(x)\nouts.append(x)\nouts['a'] = x", "outs = {}"),
        ("x = layer(x)\nouts.append(x)", "outs = [] if mask else ()"),
    ],
)
def test_ways_of_adding_that_do_not_go_together(text, before):
    refused(text, "another kind of container", before)


@pytest.mark.parametrize("text", ["outs[0] = x\nx = layer(x)", "x = layer(x)\nfor k in keys:\n    outs[k] = x"])
def test_a_list_that_the_body_stores_into_by_index(text):
    refused(text, "stores into it by an index", "outs = [0]")


def test_layers_are_not_collected():
    refused("x = layer(x)\nouts.append(layer)", "is a layer; a scan collects arrays")


@pytest.mark.parametrize("value", ["(y for y in x)", "lambda: x", "[layer, lambda: x]"])
def test_functions_and_generators_are_not_collected(value):
    found = only(model(loop(f"x = layer(x)\nouts.append({value})"), before="outs = []", after="return outs"))
    assert isinstance(found, Refusal) and found.rule == "SCN206", found


@pytest.mark.parametrize("use", ["x = new(x)\nouts.append(new)", "x = jax.vmap(new)(x)\nouts += [new]"])
def test_modules_that_a_method_makes_are_not_understood(use):
    found = only(model(loop(f"new = layer.init(x)\n{use}"), before="outs = []", after="return outs"))
    assert isinstance(found, Refusal) or not found.safe


def test_effects_in_what_is_collected_are_seen():
    found = only(model(loop("x = layer(x)\nouts.append(next(keys))"), before="outs = []"))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN207"


def test_a_handler_that_sees_a_part_of_the_list():
    text = loop("x = layer(x)\nouts.append(x)").replace("\n", "\n    ")
    for rest in ("except ValueError:\n    pass", "finally:\n    helper(outs)"):
        found = only(model(f"try:\n    {text}\n{rest}", before="outs = []"))
        assert isinstance(found, Refusal)
        assert found.rule == "SCN212"


def test_numbers_and_arrays_that_grow_are_carried():
    found = only(model(loop("x = layer(x)\nloss += x.sum()"), before="loss = jnp.zeros(())"))
    assert isinstance(found, Plan)
    assert (found.carry, found.ys, found.rule) == (("x", "loss"), (), "SCN101")


def test_without_a_carry_nothing_is_a_scan():
    found = only(model(loop("y = layer(x)\nouts.append(y)\nouts.append(y)"), before="outs = []"))
    assert isinstance(found, Refusal)
    assert (found.rule, found.kind) == ("SCN210", Kind.MAP)


OWN_PLACE = [
    "x, caches[i] = layer(x, caches[i])",
    "c = caches[i]\nx, c = layer(x, c)\ncaches[i] = c",
    "x, c = layer(x, caches[i])\nif mask is not None:\n    caches[i] = c",
    "caches[i] = layer(x, caches[i])\nx = x * 2",
]


@pytest.mark.parametrize("text", OWN_PLACE)
@pytest.mark.parametrize(
    "head", ["for i, layer in enumerate(self.layers):", "for i, layer in enumerate(self.layers, 1):"]
)
def test_a_list_that_each_layer_reads_and_stores_into_stays(text, head):
    found = only(model(loop(text, head), before="caches = [None] * 3"))
    assert isinstance(found, Refusal) and found.rule == "SCN206" and "reads `caches` too" in found.reason


def test_a_list_of_the_callers_is_none_of_this_function():
    text = model(
        loop("x = layer(x)\ncaches[i] = x", "for i, layer in enumerate(self.layers):"), parameters="x, mask, caches"
    )
    found = only(text)
    assert isinstance(found, Refusal) and found.rule == "SCN206", found


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("x, caches[i] = layer(x, caches[i - 1])", "caches = [x] * 3"),
        ("x, caches[i - 1] = layer(x, caches[i - 1])", "caches = [x] * 3"),
        ("caches[i] = x\nx = layer(x, caches[i])", "caches = [x] * 3"),
        ("x, caches[i] = layer(x, caches[i])\nx = x + caches[i]", "caches = [x] * 3"),
        ("x, caches[i] = layer(x, caches[i])\nx = x + caches[0]", "caches = [x] * 3"),
        ("x, caches[i] = layer(x, caches[i])\nx = x + len(caches)", "caches = [x] * 3"),
        ("for _ in range(2):\n    x, caches[i] = layer(x, caches[i])", "caches = [x] * 3"),
        ("f = lambda: caches[i]\nx, caches[i] = layer(x), x\nx = x + f()", "caches = [x] * 3"),
        ("x, caches[i] = layer(x, caches[i])", "caches = [x] * 3\nother = caches"),
        ("x, caches[i] = layer(x, caches[i])", "caches = [x] * 3\nsee = lambda: caches[0]"),
    ],
)
def test_a_list_that_is_read_at_another_place_or_later(text, before):
    found = only(model(loop(text, "for i, layer in enumerate(self.layers):"), before=before))
    assert isinstance(found, Refusal), found
    assert found.rule == "SCN206"


@pytest.mark.parametrize("head", ["for i in range(-2, 2):", "for i in (0, 1, 2):"])
def test_numbers_that_may_be_one_place_twice(head):
    text = "layer = self.layers[i]\nx, caches[i] = layer(x, caches[i])"
    found = decide(model(loop(text, head), before="caches = [x] * 3"))
    assert [one.rule for one in found if isinstance(one, Refusal)] == ["SCN206"]


def test_looking_at_a_list_before_the_loop_keeps_none_of_it():
    assert plan("x = layer(x)\nouts.append(x)", "outs = [x] * 3\nfirst = outs[0]").ys == ("outs",)


STATES = """\
for t in range(8):
    outs = []
    for layer, state in zip(self.layers, states):
        x = layer(x, state)
        outs.append(x)
    states = outs"""


def test_what_a_loop_around_makes_anew_is_another_list_behind_the_loop():
    """States of a stack of cells over time: `states = outs` keeps the list of this step, which the next does not see."""
    found = only(model(STATES, before="states = [jnp.zeros(8) for _ in self.layers]"))
    assert isinstance(found, Plan), found
    assert found.ys == ("outs",)


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(STATES.replace("    outs = []\n", "").replace("for t", "outs = []\nfor t", 1), id="made once"),
        pytest.param(
            STATES.replace("    outs = []\n", "    if t == 0:\n        outs = []\n"), id="made in the first turn"
        ),
        pytest.param(
            STATES.replace("    outs = []\n", "    outs = []\n    states = outs\n"), id="held before the loop"
        ),
        pytest.param(STATES.replace("outs = []", "outs = states"), id="the list of the step before"),
    ],
)
def test_one_that_others_hold_while_the_loop_runs_is_none(changed):
    found = only(model(changed, before="states = [jnp.zeros(8) for _ in self.layers]"))
    assert isinstance(found, Refusal) and found.rule == "SCN206", found


@pytest.mark.parametrize("reader", ["lambda: outs", "(out for out in outs)"])
def test_one_that_a_function_reads_later_is_none(reader):
    found = only(model(f"{STATES}\n    mask = {reader}", before="states = [jnp.zeros(8) for _ in self.layers]"))
    assert isinstance(found, Refusal) and found.rule == "SCN209", found
    before = f"outs = []\nlast = {reader}"
    found = only(model(loop("x = layer(x)\nouts.append(x)"), before=before, after="return outs"))
    assert isinstance(found, Refusal) and found.rule in ("SCN206", "SCN209"), found


@pytest.mark.parametrize(
    "changed",
    [
        "outs = []\nfor outs in mask:\n    for layer in self.layers:\n        outs.append(layer(x))",
        "outs = []\nfor t in mask:\n    for layer in self.layers:\n        outs.append(layer(x))\n    outs = keys",
        "outs = []\nwith mask as outs:\n    for layer in self.layers:\n        outs.append(layer(x))",
    ],
)
def test_a_name_that_code_around_the_loop_binds_is_none(changed):
    found = [each for each in decide(model("", before=changed, after="return outs")) if isinstance(each, Plan)]
    assert not any(each.safe for each in found), found


def test_a_list_of_a_layer_is_not_one_of_the_same_name_that_the_loop_collects() -> None:
    text = model("outs = []\nfor layer in self.layers:\n    x = layer(x)\n    outs.append(x)", after="return x, outs")
    assert only(text).rule == "SCN105"
    found = only(
        text.replace("class Block", "outs = []\n\n\nclass Block").replace(
            "return x + ", "outs.append(1)\n        return x + "
        )
    )
    assert isinstance(found, Refusal) and found.rule == "SCN207"


@pytest.mark.parametrize(
    ("before", "loop"),
    [
        ("outs = [x]\nalias = outs", "for layer in self.layers:\n    outs.append(layer(alias[-1]))"),
        ("outs = [x]\nalias = outs", "for layer in self.layers:\n    outs += [layer(alias[-1])]"),
        ("outs = [x]\nheld = {'a': outs}", "for layer in self.layers:\n    outs.append(layer(held['a'][-1]))"),
        ("outs = [x]\nalias = outs", "for layer, y in zip(self.layers, alias):\n    outs.append(layer(y))"),
        ("outs = [x] * 4", "for i in range(len(self.layers)):\n    outs.append(self.layers[i](outs[i]))"),
        ("outs = [x] * 4", "for i in range(len(self.layers)):\n    outs.append(self.layers[i](outs[-i - 1]))"),
        ("outs = [x]\nread = lambda: outs[-1]", "for layer in self.layers:\n    outs.append(layer(read()))"),
    ],
)
def test_a_list_that_each_layer_adds_to_and_reads_by_another_name_is_refused(before: str, loop: str) -> None:
    found = only(model(loop, before=before, after="return outs"))
    assert isinstance(found, Refusal) and found.rule == "SCN206", found
