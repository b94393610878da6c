"""Independent layers: which comprehensions are plans, which are refused, and which are nobody's business."""

from textwrap import indent

import pytest

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack
from tests.analysis.helpers import INIT, PRELUDE, decide, model, only


def returned(expression: str, **given: str) -> str:
    return model(loop="", after=f"return {expression}", **given)


PLANS = {
    "a list": ("[layer(x) for layer in self.layers]", (), ("x",)),
    "a list that is stacked": ("jnp.stack([layer(x) for layer in self.layers])", (), ("x",)),
    "a generator that is summed": ("sum(layer(x) for layer in self.layers)", (), ("x",)),
    "a generator beside other arguments": ("sum((layer(x) for layer in self.layers), 0.0)", (), ("x",)),
    "a generator with a star": ("jnp.add(*(layer(x) for layer in self.layers))", (), ("x",)),
    "a method": ("[layer.attend(x, mask) for layer in self.layers]", (), ("x", "mask")),
    "a part of a layer": ("[layer.linear(x) for layer in self.layers]", (), ("x",)),
    "a transformed layer": ("[jax.vmap(layer)(x) for layer in self.layers]", (), ("x",)),
    "more around the call": ("[(jnp.tanh(layer(x)) * 2, 1) for layer in self.layers]", (), ("x",)),
    "keys": ("[layer(x, key=k) for layer, k in zip(self.layers, keys)]", (("k", "keys"),), ("x",)),
    "a name that is bound again": ("[layer(x) for layer, x in zip(self.layers, keys)]", (("x", "keys"),), ()),
    "an index": ("[layer(x[i]) for i, layer in enumerate(self.layers)]", (("i", "range(len(self.layers))"),), ("x",)),
    "an index that is not read": ("[layer(x) for i, layer in enumerate(self.layers)]", (), ("x",)),
    "an index from one on": (
        "[layer(x[i]) for i, layer in enumerate(self.layers, 1)]",
        (("i", "range(1, 1 + len(self.layers))"),),
        ("x",),
    ),
    "inside a lambda": ("jax.vmap(lambda y: [layer(y) for layer in self.layers])(x)", (), ("y",)),
}


@pytest.mark.parametrize("name", PLANS)
def test_comprehensions_over_layers_are_maps(name: str) -> None:
    expression, xs, broadcast = PLANS[name]
    plan = only(returned(expression))
    assert isinstance(plan, Plan), plan
    assert (plan.kind, plan.rule, plan.carry, plan.safe) == (Kind.MAP, "SCN104", (), True)
    assert tuple((one.target, one.source) for one in plan.xs) == xs
    assert plan.broadcast == broadcast
    assert isinstance(plan.stack, InitStack)
    assert plan.holds is (Holds.BLOCK_SEQ if xs and xs[0][1].startswith("range") else Holds.ARRAY_STACKED)


FUNCTIONS = {
    "a lambda": "[lambda y: layer(y) for layer in self.layers]",
    "one beside an array": "[(layer(x), lambda y: layer(y)) for layer in self.layers]",
    "one in a dict": "[{'out': layer(x), 'again': lambda y: layer(y)} for layer in self.layers]",
    "a transformed one": "[jax.jit(lambda y: layer(y)) for layer in self.layers]",
}


@pytest.mark.parametrize("expression", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_that_are_given_for_each_layer_are_no_map(expression: str) -> None:
    # Python's read the last layer when they are called; what a scan gives are arrays.
    refusal = only(returned(expression))
    assert isinstance(refusal, Refusal), refusal
    assert refusal.rule == "SCN206" and "a function for each layer" in refusal.reason


def test_the_line_is_that_of_the_bracket() -> None:
    text = returned(
        "jnp.concatenate(\n    [\n        layer(x)\n        for layer in self.layers\n    ],\n    axis=-1,\n)"
    )
    plan = only(text)
    assert text.splitlines()[plan.place.span.line - 1].strip() == "["


REFUSED = {
    "SCN213: an if": "[layer(x) for layer in self.layers if mask is None]",
    "SCN213: several fors": "[layer(y) for layer in self.layers for y in keys]",
    "SCN213: a generator that next asks": "next(layer(x) for layer in self.layers)",
    "SCN213: a generator that any may leave": "any(layer(x) for layer in self.layers)",
    "SCN213: a generator walked by a lazy zip": "f(zip(keys, (layer(x) for layer in self.layers)))",
    "SCN213: a pattern": "[layer(x, a, key=b) for layer, (a, b) in zip(self.layers, keys)]",
    "SCN213: a map that is returned": "map(lambda layer: layer(x), self.layers)",
    "SCN213: a map that next asks": "next(map(lambda layer: layer(x), self.layers))",
    "SCN213: an async for": "[layer(x) async for layer in self.layers]",
    "SCN212: a walrus": "[layer(y := x) for layer in self.layers]",
    "SCN205: await": "[await layer(x) for layer in self.layers]",
    "SCN207: an effect": "[layer(next(keys)) for layer in self.layers]",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_map_is_refused_with_its_reason(name: str) -> None:
    text = returned(REFUSED[name])
    found = only(text.replace("def __call__", "async def __call__") if "a" in name and "sync " in name else text)
    assert isinstance(found, Refusal)
    assert found.kind is Kind.MAP
    assert found.rule == name.partition(":")[0], found


@pytest.mark.parametrize(
    "element",
    [
        "layer(keys.pop())",
        'f"{layer(x)}"',
        "Record(layer(x))",
        "(layer(x), {'out': Record(x)})",
    ],
)
def test_what_is_not_shown_to_give_arrays_is_for_a_run(element: str) -> None:
    record = "class Record:\n    def __init__(self, value):\n        self.value = value\n\n\nclass Model"
    (found,) = decide(returned(f"[{element} for layer in self.layers]").replace("class Model", record))
    assert isinstance(found, Plan) and not found.safe


EXTENDS = "outs.extend(layer(x) for layer in self.layers)"


@pytest.mark.parametrize(
    "text",
    [
        "outs = []\n" + EXTENDS,
        "outs = keys\n" + EXTENDS,
        "outs = set()\n" + EXTENDS,
        "outs = [x]\nouts.extend(layer(outs[-1]) for layer in self.layers)",
        "outs = [x]\nseen = outs\nouts.extend(layer(seen[-1]) for layer in self.layers)",
        "outs = [x]\ndef last(y):\n    return outs[-1] + y\nouts.extend(last(layer(x)) for layer in self.layers)",
        "outs = [x]\nfor k in keys:\n    outs.extend(layer(seen[-1]) for layer in self.layers)\n    seen = outs",
    ],
)
def test_a_generator_that_extends_a_list_is_refused(text: str) -> None:
    refusal = only(model(text, after="return outs"))
    assert isinstance(refusal, Refusal), refusal
    assert refusal.rule == "SCN213"


def test_a_generator_that_is_kept_sees_later_values() -> None:
    found = only(model(loop="", before="g = (layer(x) for layer in self.layers)", after="x = 2\nreturn sum(g)"))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN213"


ALONE = {
    "attributes": "[layer.linear.weight for layer in self.layers]",
    "methods without arguments": "[layer.reset() for layer in self.layers]",
    "functions of the layer": "[helper(layer) for layer in self.layers]",
    "other things": "[k.sum(x) for k in keys]",
    "ignored": "[layer(x) for layer in self.layers]  # scanify: ignore",
    "in an f-string": 'f"{[layer(x) for layer in self.layers]}"',
    "sets": "{layer(x) for layer in self.layers}",
    "a map that tests are made by": "list(map(lambda layer: helper(layer), self.layers))",
    "a map of a tree": "jax.tree.map(lambda layer: layer(x), self.layers)",
    "a map of jax": "jax.lax.map(lambda layer: layer(x), self.layers)",
    "a map of another function": "list(map(helper, self.layers))",
    "a map over what a star gives": "list(map(lambda layer, y: layer(y), *mask, self.layers))",
    "another map": "(lambda map: list(map(lambda layer: layer(x), self.layers)))(mask)",
    "a map that is ignored": "list(map(lambda layer: layer(x), self.layers))  # scanify: ignore",
}


@pytest.mark.parametrize("name", ALONE)
def test_what_applies_no_layers_is_left_alone(name: str) -> None:
    assert decide(returned(ALONE[name])) == []


@pytest.mark.parametrize(
    ("before", "above"),
    [
        ("map = keys", ""),
        ("from functools import partial as map", ""),
        ("", "def map(f, layers):\n    return layers\n\n\n"),
        ("", "from elsewhere import map\n"),
    ],
    ids=["local", "imported in the function", "of the module", "imported"],
)
def test_another_function_by_the_name_of_map_is_left_alone(before: str, above: str) -> None:
    text = model(loop="", before=before, after="return list(map(lambda layer: layer(x), self.layers))")
    assert decide(f"{above}{text}") == []


@pytest.mark.parametrize(
    "use",
    [
        "map(lambda one: one is mask, self.layers)",
        "map(lambda one, k: k if one == mask else mask, self.layers, keys)",
        "map(lambda pair: pair[0] is mask, zip(self.layers, keys))",
        "map(lambda one: setattr(one, 'rate', 0), self.layers)",
        "map(step, self.layers)",
        "map(keys, self.layers)",
        "functools.reduce(lambda y, one: y if one is mask else one, self.layers, x)",
        "mask(lambda one: one, self.layers)",
        "map(lambda one: one.rate, self.layers)",
    ],
)
def test_a_map_beside_that_needs_the_layers_themselves_keeps_the_list(use: str) -> None:
    before = f"def step(one):\n    return one is mask\nsome = list({use})"
    (plan,) = (one for one in decide(model(before=before)) if isinstance(one, Plan))
    assert isinstance(plan.stack, CallStack)


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Block(8, key=key), Block(8, key=key)]",
        "self.layers = [Block(8, key=k) for k in jr.split(key, 2)]",
        "self.layers = [Block(8, key=key) for _ in range(2)]",
        f"{INIT}\nself.norm = [layer(1) for layer in self.layers]",
    ],
    ids=["two", "two keys", "a range of two", "in the constructor"],
)
def test_what_gains_nothing_is_left_alone(init: str) -> None:
    expression = "x" if "norm" in init else "[layer(x) for layer in self.layers]"
    assert decide(returned(expression, init=init)) == []


def test_three_layers_are_enough() -> None:
    init = "self.layers = [Block(8, key=k) for k in jr.split(key, 3)]"
    assert isinstance(only(returned("[layer(x) for layer in self.layers]", init=init)), Plan)


def test_layers_that_may_differ_are_held_by_a_block_seq() -> None:
    init = "self.layers = [Block(8 if i % 2 else 16, key=key) for i in range(depth)]"
    plan = only(returned("[layer(x) for layer in self.layers]", init=init))
    assert isinstance(plan, Plan)
    assert plan.holds is Holds.BLOCK_SEQ
    plan = only(returned("[layer(x) for layer in self.layers[1:]]"))
    assert isinstance(plan, Plan)
    assert (plan.holds, plan.container) == (Holds.BLOCK_SEQ, "self.layers[1:]")


def test_layers_that_the_caller_gives_may_be_any_subclass() -> None:
    init = "self.layers = layers"
    text = returned("[layer(x) for layer in self.layers]", init=init)
    plan = only(text.replace("self, depth, *, key", "self, layers: list[Block]"))
    assert isinstance(plan, Plan)
    assert (plan.holds, plan.safe, type(plan.stack), plan.call.owner) == (Holds.BLOCK_SEQ, True, CallStack, None)
    assert not decide(text.replace("self, depth, *, key", "self, layers").replace("list[Block]", "list"))


APPEND = "for layer in self.layers:\n    outs.append(layer(x))"


@pytest.mark.parametrize("before", ["outs = []", "outs = []\nouts += keys", "outs = [x]"])
def test_a_loop_that_only_appends(before: str) -> None:
    plan = only(model(APPEND, before=before, after="return outs"))
    assert isinstance(plan, Plan)
    assert (plan.kind, plan.ys, plan.mapped.appends_to, plan.mapped.element) == (
        Kind.MAP,
        ("outs",),
        "outs",
        "layer(x)",
    )


@pytest.mark.parametrize(
    ("loop", "before", "after"),
    [
        (APPEND, "outs = []", "return outs, layer"),
        (APPEND, "outs = keys", "return outs"),
        (f"{APPEND}\nelse:\n    x = 1", "outs = []", "return outs"),
        (APPEND.replace("x)", "outs[-1])"), "outs = [x]", "return outs"),
        (f"try:\n    {APPEND.replace('    ', '        ')}\nexcept ValueError:\n    pass", "outs = []", "return outs"),
    ],
    ids=["the layer is read later", "not a list", "else", "reads the list", "caught"],
)
def test_other_loops_that_append_are_not_maps_that_can_be_rewritten(loop: str, before: str, after: str) -> None:
    assert not any(isinstance(one, Plan) and one.mapped for one in decide(model(loop, before=before, after=after)))


def test_a_map_inside_a_loop_that_is_rewritten_waits() -> None:
    found = decide(model("for layer in self.layers:\n    x = layer(x) + sum(other(x) for other in self.layers)"))
    assert [type(one) for one in found] == [Plan, Refusal]
    assert found[1].rule == "SCN212"


NAMED = {
    "one part": "hidden = layer(x)\nouts.append(hidden)",
    "a part of a part": "seen = x + mask\nhidden = layer(seen)\nouts += [hidden.sum()]",
    "a part with an operator": "gate = x + mask\nouts.append(gate * layer(x))",
    "an annotation": "hidden: jax.Array = layer(x)\nouts.append((hidden, 1))",
}


@pytest.mark.parametrize("name", NAMED)
def test_a_body_of_several_statements_is_a_function_that_is_mapped(name: str) -> None:
    loop = f"for layer in self.layers:\n{indent(NAMED[name], '    ')}"
    plan = only(model(loop, before="outs = []", after="return outs"))
    assert isinstance(plan, Plan) and (plan.kind, plan.rule, plan.mapped, plan.ys) == (
        Kind.MAP,
        "SCN104",
        None,
        ("outs",),
    )


@pytest.mark.parametrize(
    ("body", "after"),
    [
        pytest.param("hidden = layer(x)\nouts.append(hidden + hidden)", "outs", id="read twice"),
        pytest.param("hidden = layer(x)\nouts.append(hidden)", "outs, hidden", id="read after the loop"),
        pytest.param("hidden = layer(x)\nouts.append(helper(lambda: hidden))", "outs", id="read later"),
        pytest.param("hidden = layer(x)\nouts.append(x if mask else hidden)", "outs", id="read under a condition"),
        pytest.param("hidden = layer(x)\nhidden = hidden + 1\nouts.append(hidden)", "outs", id="bound twice"),
        pytest.param("hidden = layer(x)\nhidden.at[0].set(1)\nouts.append(hidden)", "outs", id="a statement between"),
        pytest.param("hidden = (h := layer(x))\nouts.append(hidden + h)", "outs", id="another name in it"),
    ],
)
def test_parts_that_more_than_the_element_may_read_stay_statements(body: str, after: str) -> None:
    text = model(f"for layer in self.layers:\n{indent(body, '    ')}", before="outs = []", after=f"return {after}")
    found = only(text)
    assert isinstance(found, Refusal) or found.mapped is None


@pytest.mark.parametrize("part", ["noise = mask.pop()", "noise = next(mask)", "noise = np.random.rand()"])
def test_parts_with_side_effects_are_seen_in_the_element(part: str) -> None:
    body = f"{part}\nouts.append(layer(x) + noise)"
    text = model(f"for layer in self.layers:\n{indent(body, '    ')}", before="outs = []", after="return outs")
    assert not any(isinstance(found, Plan) and found.safe for found in decide(text))


def test_a_name_that_other_loops_use_too_may_name_a_part() -> None:
    loop = "for layer in self.layers:\n    hidden = layer.attend(x)[None]\n    OUT.append(hidden)\n"
    text = model(loop.replace("OUT", "outs") + loop.replace("OUT", "more"), before="outs = []\nmore = []")
    assert [isinstance(found, Plan) for found in decide(text)] == [True, True]
    seen = "    show = lambda: hidden\n"
    assert not any(
        isinstance(found, Plan)
        for found in decide(text.replace("        outs = []\n", f"        outs = []\n    {seen}"))
    )


ELSEWHERE = """\
from layers.embedding import Embed, make


class Net(eqx.Module):
    embeds: list[DECLARED]

    def __init__(self, key):
        self.embeds = [MADE(260, 8, key=k) for k in jr.split(key, 8)]

    def __call__(self, tokens):
        return jnp.concatenate([eqx.filter_vmap(embed)(tokens[..., i]) for i, embed in enumerate(self.embeds)])
"""


@pytest.mark.parametrize(
    ("declared", "made", "listed"),
    [("Embed", "Embed", True), ("make", "make", False), ("Embed", "make", False)],
)
def test_independent_layers_of_a_class_of_another_package(declared: str, made: str, listed: bool) -> None:
    head = PRELUDE[: PRELUDE.index("class Model")]
    text = head + ELSEWHERE.replace("DECLARED", declared).replace("MADE", made)
    found = decide(text)
    assert len(found) == listed
    for plan in found:
        assert isinstance(plan, Plan) and not plan.safe


def asked(body: str, expression: str) -> list[Plan | Refusal]:
    method = f"\n    def told(self):\n        {body}\n"
    return decide(returned(expression).replace("\n    @staticmethod", f"{method}\n    @staticmethod"))


@pytest.mark.parametrize("expression", ["sum({})", "jnp.stack([{}]).sum()", "[{}]", "1.0 + sum({})"])
@pytest.mark.parametrize(
    ("body", "maps"),
    [
        ("return jnp.sum(self.linear.weight**2)", True),
        ("total = jnp.zeros(())\n        return total + self.linear.bias.sum()", True),
        ("return self.linear.weight.size", False),
        ("return 'dense'", False),
        ("return self.told_elsewhere()", False),
    ],
)
def test_what_a_method_gives_unasked_is_mapped_where_it_is_an_array(expression: str, body: str, maps: bool) -> None:
    found = asked(body, expression.format("layer.told() for layer in self.layers"))
    assert [each.rule for each in found if isinstance(each, Plan)] == (["SCN104"] if maps else [])
    assert maps or found == []
